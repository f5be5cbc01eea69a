import type { Sql } from '#runtime';
import { openGroups, openPage, toWaitingItem, type WaitingAnswer, type WaitingGroupsAnswer, type WaitingRequest } from './waiting-route.js';

/** Once somebody was told, its dead letter is on the way: it stays in the list until that has come even where Kafka was away for a while. */
const letterMinutes = 60;

const uncertainRows = `state = 'uncertain' AND (raised_at IS NULL OR raised_at > (SELECT clock_now()) - interval '${letterMinutes} minutes')`;

/**
 * Handler of POST /internal/v1/deliveries:uncertain: deliveries of which nobody knows whether they were written, and of which nobody was told, or
 * not long ago: whoever asks leaves out those whose dead letter has come. The longest submitted first.
 */
export function uncertainRoute(db: Sql): (body: WaitingRequest) => Promise<WaitingAnswer> {
  return async (request) => {
    const rows = await openPage(db, { name: 'delivery.uncertain_page', rows: uncertainRows, values: [] }, request);
    return { items: rows.map((row) => toWaitingItem(row)) };
  };
}

/** Handler of POST /internal/v1/deliveries:uncertain-groups: those of which nobody was told, by destination, class and code. */
export function uncertainGroupsRoute(db: Sql): () => Promise<WaitingGroupsAnswer> {
  const untold = { name: 'delivery.uncertain_groups', rows: "state = 'uncertain' AND raised_at IS NULL", values: [] };
  return async () => ({ items: await openGroups(db, untold) });
}
