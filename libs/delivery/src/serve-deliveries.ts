import { z } from 'zod';
import type { Database, InternalServer, Logger, Telemetry } from '#runtime';
import { destinationFiguresRequest, destinationFiguresRoute, type ReadUnclaimed } from './call-times/index.js';
import { commandRequest } from './command-request.js';
import { commandRoute } from './delivery-commands.js';
import { destinationsRequest, destinationsRoute } from './destination/index.js';
import { eraseRequest, eraseRoute } from './erasure/erase-route.js';
import { expireRequest, expireRoute } from './expire-route.js';
import { findRequest, findRoute } from './find-route.js';
import { historyRequest, historyRoute } from './history-route.js';
import { figuresRequest, figuresRoute } from './queues/figures-route.js';
import { uncertainGroupsRoute, uncertainRoute } from './queues/uncertain-route.js';
import { waitingGroupsRoute, waitingRequest, waitingRoute } from './queues/waiting-route.js';
import { windowRequest } from './reconcile/window-request.js';
import { type WindowOptions, windowRoute } from './reconcile/window-route.js';
import { lookupRequest, lookupRoute } from './replays/lookup-route.js';
import { recordsReadRequest, recordsRoute } from './replays/records-route.js';
import { replayFactsRequest, replayFactsRoute } from './replays/replay-facts-route.js';
import { closeItemsRoute, replayItemsRequest, replayItemsRoute } from './replays/replay-items-route.js';
import { statesRequest, statesRoute } from './states-route.js';
import type { StoredDelivery } from './stored-delivery.js';
import type { SweptTarget, VerifiedTarget } from './swept-target.js';
import { unresolvedRequest, unresolvedRoute } from './unresolved-route.js';

export interface ServeOptions {
  db: Database;
  /** By `delivery.destination`: of every destination of this service, also those that another process serves. */
  target(destination: string): SweptTarget | undefined;
  /** Of the destinations that this process can ask itself; the others' answer is `unknown`. */
  verified(destination: string): VerifiedTarget | undefined;
  /** A command changed a delivery. Told once that is committed. */
  onChange?(after: StoredDelivery): void;
  relayWake: () => void;
  telemetry: Telemetry;
  logger: Logger;
  /** Reads the events that deliveries came with. */
  decode: WindowOptions['decode'];
  /** What lies on the topic and was not taken up; absent: a service whose topic never waits for one destination. */
  unclaimed?: ReadUnclaimed;
}

/** Serves a service's deliveries to the others. `deliveries:state` may be served in a form of one's own by registering it afterwards. */
export function serveDeliveries(server: InternalServer, options: ServeOptions): void {
  const { db, unclaimed } = options;
  const readers = ['intake', 'reconciler', 'operator'];
  server.route('/internal/v1/deliveries:state', { callers: readers, body: statesRequest }, statesRoute(db));
  const window = { callers: ['reconciler'], body: windowRequest };
  server.route('/internal/v1/deliveries:window', window, windowRoute(options));
  server.route('/internal/v1/destinations:state', { callers: readers, body: destinationsRequest }, destinationsRoute(db));
  const nameOf = (destination: string): string => options.target(destination)?.name ?? destination;
  const figures = destinationFiguresRoute({ db, nameOf, unclaimed });
  server.route('/internal/v1/destinations:figures', { callers: ['operator'], body: destinationFiguresRequest }, figures);
  server.route('/internal/v1/deliveries:history', { callers: ['operator'], body: historyRequest }, historyRoute(db));
  server.route('/internal/v1/deliveries:find', { callers: ['operator'], body: findRequest }, findRoute(db));
  server.route('/internal/v1/deliveries:unresolved', { callers: ['operator', 'reconciler'], body: unresolvedRequest }, unresolvedRoute(db));
  server.route('/internal/v1/deliveries:command', { callers: ['operator'], body: commandRequest }, commandRoute(options));
  server.route('/internal/v1/deliveries:lookup', { callers: ['operator'], body: lookupRequest }, lookupRoute(options));
  server.route('/internal/v1/records:read', { callers: ['operator'], body: recordsReadRequest }, recordsRoute(options));
  server.route('/internal/v1/deliveries:waiting', { callers: ['operator'], body: waitingRequest }, waitingRoute(db));
  server.route('/internal/v1/deliveries:waiting-groups', { callers: ['operator'], body: z.strictObject({}) }, waitingGroupsRoute(db));
  server.route('/internal/v1/deliveries:uncertain', { callers: ['operator'], body: waitingRequest }, uncertainRoute(db));
  server.route('/internal/v1/deliveries:uncertain-groups', { callers: ['operator'], body: z.strictObject({}) }, uncertainGroupsRoute(db));
  server.route('/internal/v1/deliveries:figures', { callers: ['operator'], body: figuresRequest }, figuresRoute(db, unclaimed));
  server.route('/internal/v1/leads:erase', { callers: ['operator'], body: eraseRequest }, eraseRoute(options));
  const items = { callers: ['operator'], body: replayItemsRequest };
  server.route('/internal/v1/replay-items:state', items, replayItemsRoute(db));
  server.route('/internal/v1/replay-items:close', items, closeItemsRoute(db));
  server.route('/internal/v1/replay-items:facts', { callers: ['operator'], body: replayFactsRequest }, replayFactsRoute(options));
  server.route('/internal/v1/deliveries:expire', { callers: ['intake'], body: expireRequest }, expireRoute(options));
}
