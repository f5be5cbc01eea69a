import {
  type HistoryAnswer,
  type HistoryRequest,
  historyRequest,
  historyRoute,
  type UnresolvedAnswer,
  type UnresolvedRequest,
  unresolvedRequest,
  unresolvedRoute,
} from '#delivery';
import type { InternalServer, Sql } from '#runtime';
import { ownerlessAfter, ownerlessHistories } from './ownerless-leads.js';

/** No cursor of the deliveries begins like that. */
const prefix = 'ownerless:';
const beginning = '00000000-0000-0000-0000-000000000000';
const id = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Beside the deliveries that a person is to decide about: leads whose owner somebody has to find. To be registered after `serveDeliveries`. */
export function serveOwnerless(server: InternalServer, db: Sql): void {
  const readers = { callers: ['operator', 'reconciler'], body: unresolvedRequest };
  server.route('/internal/v1/deliveries:unresolved', readers, unresolvedWithOwnerless(db));
  server.route('/internal/v1/deliveries:history', { callers: ['operator'], body: historyRequest }, historyWithOwnerless(db));
}

/** First all deliveries, then those leads. */
export function unresolvedWithOwnerless(db: Sql): (body: UnresolvedRequest) => Promise<UnresolvedAnswer> {
  const deliveries = unresolvedRoute(db);
  return async ({ after, limit }) => {
    const page = after?.startsWith(prefix) ? { items: [] } : await deliveries({ after, limit });
    if (page.next !== undefined) return page;
    const room = limit - page.items.length;
    const last = after?.startsWith(prefix) ? after.slice(prefix.length) : beginning;
    const leads = await ownerlessAfter(db, id.test(last) ? last : beginning, room);
    const end = leads.length === room ? leads.at(-1) : undefined;
    return { items: [...page.items, ...leads], ...(end && { next: `${prefix}${end.event_id}` }) };
  };
}

/** What never became a delivery is told from the note. */
export function historyWithOwnerless(db: Sql): (body: HistoryRequest) => Promise<HistoryAnswer> {
  const deliveries = historyRoute(db);
  return async (body) => {
    const { items } = await deliveries(body);
    const known = new Set(items.map(nameOf));
    const left = body.items.filter((item) => item.destination !== undefined && !known.has(nameOf(item)));
    return { items: [...items, ...(await ownerlessHistories(db, left, body.records))] };
  };
}

const nameOf = ({ event_id, destination }: { event_id: string; destination?: string }): string =>
  `${event_id.toLowerCase()} ${destination ?? ''}`;
