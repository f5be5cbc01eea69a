export const filterNames = ['state', 'class', 'destination', 'owner', 'run_id', 'event_id'] as const;
export type DiscrepancyFilter = Partial<Record<(typeof filterNames)[number], string>>;

/** As the API takes it: nothing in the address is what is open, `any` is everything. */
export function queryOf({ state = 'open', ...filter }: DiscrepancyFilter): Record<string, string | undefined> {
  return { ...filter, state: state === 'any' ? undefined : state };
}
