import { useSearchParams } from 'react-router';

const filterNames = [
  'class',
  'destination',
  'code',
  'no_code',
  'schema_id',
  'no_schema_id',
  'owner',
  'organization',
  'assignee',
  'group',
  'order',
] as const;
type FilterName = (typeof filterNames)[number];

export type QueueFilter = Partial<Record<FilterName, string>> & { view: 'groups' | 'list'; after?: string };

/** What is shown, kept in the address: names of classes, destinations and the like, never anything of a person. */
export function useQueueFilter() {
  const [params, setParams] = useSearchParams();
  const named = Object.fromEntries(filterNames.map((name) => [name, params.get(name) ?? undefined]));
  const after = params.get('after');
  const filter: QueueFilter = { ...named, view: params.get('view') === 'list' ? 'list' : 'groups', ...(after !== null && { after }) };
  /** Another filter starts at its first page. */
  const set = (changes: Partial<Record<FilterName | 'view', string>>) =>
    setParams((before) => {
      const next = new URLSearchParams(before);
      next.delete('after');
      for (const [name, value] of Object.entries(changes)) {
        if (value) next.set(name, value);
        else next.delete(name);
      }
      return next;
    });
  return { filter, set, clear: () => setParams(filter.view === 'list' ? { view: 'list' } : {}) };
}

/** The filter as the API takes it. Groups have neither an order of their own nor pages. */
export function queryOf(tab: string, { view, order, after, ...filter }: QueueFilter): Record<string, string | undefined> {
  return view === 'list' ? { tab, order, after, ...filter } : { tab, ...filter };
}
