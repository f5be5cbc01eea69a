import { z } from 'zod';
import { reasonText } from '#delivery';
import type { Sql } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import { refusals } from '../http/refusal.js';
import type { Person } from '../people/person.js';
import { readDiscrepancies } from './discrepancies.js';
import type { ReconcilerApi } from './reconciler-api.js';
import { reconciliationRefusals } from './refusals.js';

export const acceptBody = z.strictObject({ reason: reasonText.min(1) });
export const accepted = z.object({ discrepancy_id: z.uuid(), state: z.literal('accepted') });

export interface AcceptTools {
  db: Sql;
  reconciler: Pick<ReconcilerApi, 'discrepancies' | 'settle'>;
}

const openItemSql = `
SELECT batch_id FROM replay_item WHERE discrepancy_ids @> ARRAY[$1::uuid] AND state = 'open' LIMIT 1`;

/**
 * Records that what stands at the destination is right. It stands in the audit before the reconciler is told, and what came of it afterwards.
 * Throws the refusals 404, 409 and 503.
 */
export async function acceptDiscrepancy(
  { db, reconciler }: AcceptTools,
  { id, reason }: { id: string; reason: string },
  person: Person,
): Promise<z.infer<typeof accepted>> {
  const [found] = await readDiscrepancies({ reconciler }, [id], person);
  if (found === undefined) throw refusals.notFound();
  const [item] = await db.sql<{ batch_id: string }>('operator.item_of_discrepancy', openItemSql, [id]);
  if (item !== undefined) throw reconciliationRefusals.inBatch(item.batch_id);
  const { event_id, destination, organization } = found;
  const subject = { discrepancy_id: id, event_id, destination, class: found.class, aspect: found.aspect, was: found.state };
  const entry = { ...actor(person), action: 'discrepancy.accept', organization };
  await audit(db, { ...entry, subject: { ...subject, reason } });
  const [answer] = (await reconciler.settle([{ discrepancy_id: id, state: 'accepted', by: person.subject, reason }])).items;
  await audit(db, { ...entry, action: 'discrepancy.accept.answer', subject: { ...subject, ...answer } });
  if (answer == null) throw refusals.notFound();
  if (answer.state !== 'accepted') throw reconciliationRefusals.settled(answer.state);
  return { discrepancy_id: id, state: 'accepted' };
}
