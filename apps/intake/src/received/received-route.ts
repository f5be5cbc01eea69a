import { z } from 'zod';
import type { InternalServer, Sql } from '#runtime';
import { databaseNow } from '../database-clock.js';
import { lastDays, receivedDays } from './received-days.js';

const request = z.object({ from: z.iso.date().optional(), to: z.iso.date().optional() });

/** POST /internal/v1/received:days {from?, to?}: what came in per source and day, and what became of it. Default: the last 8 days. */
export function serveReceived(server: InternalServer, { db }: { db: Sql }): void {
  server.route('/internal/v1/received:days', { callers: ['reconciler', 'operator'], body: request }, async ({ from, to }) => {
    const days = lastDays(await databaseNow(db));
    return receivedDays(db, { from: from ?? days.from, to: to ?? days.to });
  });
}
