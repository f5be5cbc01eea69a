import { z } from 'zod';
import { daysOfBalance } from '#delivery';
import type { Database, InternalServer } from '#runtime';
import { databaseNow } from '../database-clock.js';
import { receivedDays } from './received-days.js';

const request = z.object({ from: z.iso.date().optional(), to: z.iso.date().optional() });

/** POST /internal/v1/received:days {from?, to?}: what came in per source and day, and what became of it. Default: the last 8 days. */
export function serveReceived(server: InternalServer, { db }: { db: Database }): void {
  server.route('/internal/v1/received:days', { callers: ['reconciler', 'operator'], body: request }, async ({ from, to }) => {
    const days = daysOfBalance(await databaseNow(db));
    return receivedDays(db, { from: from ?? days.at(0)?.from ?? '', to: to ?? days.at(-1)?.to ?? '' });
  });
}
