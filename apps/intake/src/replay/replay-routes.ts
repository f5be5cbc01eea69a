import { z } from 'zod';
import type { InternalServer, Sql } from '#runtime';
import { closeItems, itemStates } from './item-states.js';
import { lookUpItems, replayFacts } from './replay-facts.js';

const mostItems = 500;
const name = { event_id: z.uuid().transform((id) => id.toLowerCase()), destination: z.string().min(1).max(512) };
const items = z.object({
  items: z
    .array(z.object({ item_id: z.uuid(), ...name }))
    .min(1)
    .max(mostItems),
});
const names = z.object({ items: z.array(z.object(name)).min(1).max(mostItems) });

/**
 * Leads without a route and refused records as the operator asks for deliveries of other services, POST:
 * - /internal/v1/replay-items:state, :close: what became of approved items
 * - /internal/v1/replay-items:facts: what a dry run needs to know
 * - /internal/v1/deliveries:lookup: what is here now of leads that were routed, or accepted, by an item
 */
export function serveReplays(server: InternalServer, { db }: { db: Sql }): void {
  const callers = ['operator'];
  server.route('/internal/v1/replay-items:state', { callers, body: items }, async (body) => ({ items: await itemStates(db, body.items) }));
  server.route('/internal/v1/replay-items:close', { callers, body: items }, async (body) => ({ items: await closeItems(db, body.items) }));
  server.route('/internal/v1/replay-items:facts', { callers, body: names }, async (body) => ({ items: await replayFacts(db, body.items) }));
  server.route('/internal/v1/deliveries:lookup', { callers, body: names }, async (body) => ({ items: await lookUpItems(db, body.items) }));
}
