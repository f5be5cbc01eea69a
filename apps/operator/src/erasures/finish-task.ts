import type { Database } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import { refusals } from '../http/refusal.js';
import type { Person } from '../people/person.js';
import { lockErasure } from './erasure-row.js';

const doneSql = `
UPDATE erasure_task SET done_at = clock_now(), done_by = $3 WHERE erasure_id = $1 AND task_id = $2 AND done_at IS NULL
RETURNING destination, kind, ref`;
const knownSql = 'SELECT 1 AS known FROM erasure_task WHERE erasure_id = $1 AND task_id = $2';
const completeSql = `
UPDATE erasure e SET state = 'complete', completed_at = clock_now()
WHERE e.erasure_id = $1 AND e.state = 'tasks' AND NOT EXISTS (
  SELECT FROM erasure_task t WHERE t.erasure_id = e.erasure_id AND t.done_at IS NULL)
RETURNING 1 AS complete`;

/** A person says that a record is deleted at its destination. To say it again changes nothing. Throws the refusals 404 and 409. */
export async function finishTask(db: Database, task: { erasureId: string; taskId: string }, person: Person): Promise<void> {
  const { erasureId, taskId } = task;
  await db.transaction(async (tx) => {
    const { state, organizations } = await lockErasure(tx, erasureId, person);
    if (state === 'draft' || state === 'expired')
      throw refusals.conflict('erasure-not-approved', 'Nothing is to be deleted before the erasure is approved', { state });
    const [done] = await tx.sql<{ destination: string; kind: string; ref: string }>('operator.task_done', doneSql, [
      erasureId,
      taskId,
      person.subject,
    ]);
    if (done === undefined) {
      if ((await tx.sql('operator.task_known', knownSql, [erasureId, taskId])).length === 0) throw refusals.notFound();
      return;
    }
    const complete = (await tx.sql('operator.erasure_complete', completeSql, [erasureId])).length > 0;
    const organization = organizations.length === 1 ? organizations[0] : null;
    const subject = { erasure_id: erasureId, task_id: taskId, ...done, complete };
    await audit(tx, { ...actor(person), action: 'erasure.task_done', organization, subject });
  });
}
