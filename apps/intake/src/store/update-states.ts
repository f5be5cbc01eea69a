import { type Column, columnValues, type Sql, unnestColumns } from '#runtime';

/** What an owner announced of a delivery. */
export interface AnnouncedState {
  eventId: string;
  destination: string;
  state: string;
  class: string | null;
  code: string | null;
  generation: number;
  operations: { kind: string; state: string; ref?: string }[];
  resolvedAt: Date;
}

const columns: readonly Column<AnnouncedState>[] = [
  ['event_id', 'uuid', (row) => row.eventId],
  ['destination', 'text', (row) => row.destination],
  ['state', 'text', (row) => row.state],
  ['class', 'text', (row) => row.class],
  ['code', 'text', (row) => row.code],
  ['generation', 'int4', (row) => row.generation],
  ['operations', 'jsonb', (row) => JSON.stringify(row.operations)],
  ['as_of', 'timestamptz', (row) => row.resolvedAt],
];

/**
 * Only forward: an announcement that was overtaken (an older generation, or an earlier time within one) changes nothing. The first one always
 * counts, since its time may come from another server's clock than the time of acceptance.
 */
const sql = `
update delivery
set state = news.state, class = news.class, code = news.code, generation = news.generation, operations = news.operations, as_of = news.as_of,
  claimed_at = coalesce(delivery.claimed_at, news.as_of)
from ${unnestColumns('news', columns)}
where delivery.event_id = news.event_id and delivery.destination = news.destination
  and (delivery.state = 'accepted' or (delivery.generation, delivery.as_of) < (news.generation, news.as_of))
returning delivery.event_id`;

/** Brings deliveries up to date; gives how many changed. Throws DatabaseUnavailable, StatementFailed. */
export async function updateStates(db: Sql, announced: readonly AnnouncedState[]): Promise<number> {
  const newest = newestPerDelivery(announced);
  if (newest.length === 0) return 0;
  const rows = await db.sql('intake.update_states', sql, columnValues(columns, newest));
  return rows.length;
}

/** One statement may touch a row once. */
function newestPerDelivery(announced: readonly AnnouncedState[]): AnnouncedState[] {
  const newest = new Map<string, AnnouncedState>();
  for (const state of announced) {
    const name = `${state.eventId} ${state.destination}`;
    const other = newest.get(name);
    if (!other || isNewer(state, other)) newest.set(name, state);
  }
  return [...newest.values()];
}

function isNewer(one: AnnouncedState, other: AnnouncedState): boolean {
  if (one.generation !== other.generation) return one.generation > other.generation;
  return one.resolvedAt.getTime() > other.resolvedAt.getTime();
}
