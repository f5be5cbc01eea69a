import { z } from 'zod';
import { leadSourcesLimit } from '#delivery';
import type { InternalServer, Sql } from '#runtime';
import { databaseNow } from '../database-clock.js';
import { acceptedPage } from './accepted-page.js';
import { leadSources } from './lead-sources.js';
import { unclaimedPlaces } from './unclaimed-places.js';

const maxItems = 500;
const callers = ['reconciler', 'operator'];
const cursor = z.string().regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12} .{1,200}$/i);
const acceptedRequest = z.object({ to: z.iso.datetime().optional(), after: cursor.optional() });
const unclaimedRequest = z.object({
  items: z
    .array(z.object({ event_id: z.uuid(), destination: z.string().min(1) }))
    .min(1)
    .max(maxItems),
});
const sourcesRequest = z.object({
  items: z
    .array(z.object({ event_id: z.uuid() }))
    .min(1)
    .max(leadSourcesLimit),
});

/**
 * The left side of the balance, POST:
 * - /internal/v1/deliveries:accepted: what was accepted in the 8 days before `to` (default: now), a page at a time
 * - /internal/v1/deliveries:unclaimed: where a delivery is that its owner does not have
 * - /internal/v1/leads:sources: whose leads these are; one that was never accepted is left out
 */
export function serveBalance(server: InternalServer, { db }: { db: Sql }): void {
  server.route('/internal/v1/deliveries:accepted', { callers, body: acceptedRequest }, async ({ to, after }) =>
    acceptedPage(db, { to: to === undefined ? await databaseNow(db) : new Date(to), after }),
  );
  server.route('/internal/v1/deliveries:unclaimed', { callers, maxItems, body: unclaimedRequest }, async ({ items }) => {
    const places = await unclaimedPlaces(db, items);
    return { items: items.map((item, index) => ({ ...item, place: places[index] })) };
  });
  server.route('/internal/v1/leads:sources', { callers, maxItems: leadSourcesLimit, body: sourcesRequest }, async ({ items }) => {
    return {
      items: await leadSources(
        db,
        items.map(({ event_id }) => event_id),
      ),
    };
  });
}
