import type { Sql } from '#runtime';
import { type DestinationItem, destinationsRoute } from '../destination/index.js';

/** Destinations and channels that nothing is sent to at the moment, by their name. */
export async function blockedDestinations(db: Sql): Promise<Map<string, DestinationItem>> {
  const { items } = await destinationsRoute(db)();
  return new Map(items.filter(({ mode }) => mode === 'blocked' || mode === 'probing').map((item) => [item.destination, item]));
}

/** Whose state says whether a delivery is sent: a notification (`lead/<channel>/…`) goes by its channel. */
export const gateColumn = "CASE WHEN destination LIKE 'lead/%' THEN split_part(destination, '/', 2) ELSE destination END";

/** Rows that wait because of their destination. `blocked`: the parameter with the names of those that nothing is sent to. */
export const heldRows = (blocked: string): string =>
  `(state = 'held' OR (state IN ('pending', 'waiting') AND ${gateColumn} = ANY (${blocked}::text[])))`;
