import { z } from 'zod';
import type { InternalServer, Logger, Sql } from '#runtime';
import { withdrawConsent } from './withdraw-consent.js';

const body = z.object({ event_id: z.uuid().transform((id) => id.toLowerCase()), at: z.iso.datetime({ offset: true }).optional() });

/** POST /internal/v1/consent:withdraw {event_id, at?}; the answer's `result` is withdrawn, gone or unknown. */
export function serveConsent(server: InternalServer, { db, logger }: { db: Sql; logger: Logger }): void {
  server.route('/internal/v1/consent:withdraw', { callers: ['operator'], body }, async ({ event_id, at }) => {
    const result = await withdrawConsent(db, { eventId: event_id, at: at === undefined ? undefined : new Date(at) });
    logger.info({ event_id, decision: result }, 'Consent withdrawn');
    return { event_id, result };
  });
}
