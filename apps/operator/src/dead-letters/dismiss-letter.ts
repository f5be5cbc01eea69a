import { z } from 'zod';
import type { Database } from '#runtime';
import { audit } from '../audit/audit.js';

export const dismissRequest = z.strictObject({
  dead_letter_id: z.uuid(),
  by: z.string().trim().min(1).max(100),
  reason: z.string().trim().min(1).max(500),
});
export type DismissRequest = z.infer<typeof dismissRequest>;

/**
 * Only where no delivery stands behind the letter: a refused lead, a lead without a route, an unreadable record, a lead without an owner that
 * was told nevertheless. Others close by what becomes of their delivery.
 */
const sql = `
UPDATE dead_letter SET state = 'closed', closed_as = 'dismissed', closed_at = clock_now()
WHERE dead_letter_id = $1 AND state = 'open'
  AND (service = 'intake' OR event_id IS NULL OR destination IS NULL OR event IS NULL OR class = 'unknown_owner')
RETURNING dead_letter_id`;

/** Closes a letter because a person has dealt with it; false where that is not for a person to say, or it was closed before. */
export async function dismissLetter(db: Database, request: DismissRequest, caller: string): Promise<boolean> {
  const { dead_letter_id, by, reason } = request;
  return db.transaction(async (tx) => {
    const dismissed = (await tx.sql('operator.dismiss_letter', sql, [dead_letter_id])).length > 0;
    await audit(tx, { caller, person: by, action: 'dead_letter.dismiss', subject: { dead_letter_id, reason, dismissed } });
    return dismissed;
  });
}
