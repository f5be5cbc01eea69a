import { z } from 'zod';
import { type StatesAnswer, unresolvedRequest } from '#delivery';
import type { InternalServer, Sql } from '#runtime';
import { ownHistories, ownStates, unresolvedEnds } from './own-ends.js';

const mostItems = 500;
const items = z
  .array(z.object({ event_id: z.uuid().transform((id) => id.toLowerCase()), destination: z.string().min(1).max(512) }))
  .min(1)
  .max(mostItems);

/**
 * What ended at intake itself, asked for as at the owners of deliveries, POST:
 * - /internal/v1/deliveries:unresolved: all of it and every refused record, a page at a time, to be held against the dead letters
 * - /internal/v1/deliveries:state: what became of what a letter is about; also of refused records
 * - /internal/v1/deliveries:history: with its record, for whoever lacks the letter
 */
export function serveOwnEnds(server: InternalServer, { db }: { db: Sql }): void {
  const callers = ['operator', 'reconciler'];
  server.route('/internal/v1/deliveries:unresolved', { callers, body: unresolvedRequest }, (body) => unresolvedEnds(db, body));
  server.route('/internal/v1/deliveries:state', { callers, body: z.object({ items }) }, async (body): Promise<StatesAnswer> => {
    const states = await ownStates(db, body.items);
    return {
      items: body.items.map(({ event_id }, index) => ({ event_id, deliveries: states[index] === undefined ? [] : [states[index]] })),
    };
  });
  const history = { callers: ['operator'], body: z.object({ items, records: z.boolean().default(false) }) };
  server.route('/internal/v1/deliveries:history', history, async (body) => ({ items: await ownHistories(db, body.items, body.records) }));
}
