/** The ids that are ticked once this one is turned over: out where it was in, in where it was not. */
export function ticked(chosen: ReadonlySet<string>, id: string): Set<string> {
  const next = new Set(chosen);
  if (!next.delete(id)) next.add(id);
  return next;
}
