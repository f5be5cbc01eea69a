import type { Database, InternalServer, Logger } from '#runtime';
import { commandRequest } from './command-request.js';
import { commandRoute } from './delivery-commands.js';
import { destinationsRequest, destinationsRoute } from './destination/index.js';
import { expireRequest, expireRoute } from './expire-route.js';
import { historyRequest, historyRoute } from './history-route.js';
import { statesRequest, statesRoute } from './states-route.js';
import type { StoredDelivery } from './stored-delivery.js';
import type { SweptTarget } from './swept-target.js';
import { unresolvedRequest, unresolvedRoute } from './unresolved-route.js';

export interface ServeOptions {
  db: Database;
  /** By `delivery.destination`: of every destination of this service, also those that another process serves. */
  target(destination: string): SweptTarget | undefined;
  /** A command changed a delivery. Told once that is committed. */
  onChange?(after: StoredDelivery): void;
  relayWake: () => void;
  logger: Logger;
}

/** Serves a service's deliveries to the others. `deliveries:state` may be served in a form of one's own by registering it afterwards. */
export function serveDeliveries(server: InternalServer, options: ServeOptions): void {
  const { db } = options;
  const readers = ['intake', 'reconciler', 'operator'];
  server.route('/internal/v1/deliveries:state', { callers: readers, body: statesRequest }, statesRoute(db));
  server.route('/internal/v1/destinations:state', { callers: readers, body: destinationsRequest }, destinationsRoute(db));
  server.route('/internal/v1/deliveries:history', { callers: ['operator'], body: historyRequest }, historyRoute(db));
  server.route('/internal/v1/deliveries:unresolved', { callers: ['operator'], body: unresolvedRequest }, unresolvedRoute(db));
  server.route('/internal/v1/deliveries:command', { callers: ['operator'], body: commandRequest }, commandRoute(options));
  server.route('/internal/v1/deliveries:expire', { callers: ['intake'], body: expireRequest }, expireRoute(options));
}
