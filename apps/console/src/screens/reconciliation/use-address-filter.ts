import { useSearchParams } from 'react-router';

/** A filter that lives in the address: names of things and ids, never anything of a person. Another filter starts at its first page. */
export function useAddressFilter<Name extends string>(names: readonly Name[]) {
  const [params, setParams] = useSearchParams();
  const filter = Object.fromEntries(names.map((name) => [name, params.get(name) ?? undefined])) as Partial<Record<Name, string>>;
  const set = (changes: Partial<Record<Name, string>>) =>
    setParams((before) => {
      const next = new URLSearchParams(before);
      next.delete('after');
      for (const [name, value] of Object.entries(changes) as [Name, string | undefined][]) {
        if (value) next.set(name, value);
        else next.delete(name);
      }
      return next;
    });
  return { filter, after: params.get('after') ?? undefined, set, clear: () => setParams({}) };
}
