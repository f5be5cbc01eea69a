import { randomUUID } from 'node:crypto';
import { audit } from '../audit/audit.js';
import type { ErasureTools } from './draft-erasure.js';
import { addLeads, addTasks, leadsOf, writeCounts } from './erasure-row.js';
import { countOwn, eraseLate, eraseOwn, ownPlace } from './own-places.js';

/** Longer than one round of all services takes at worst; after that another runner goes on. */
const leaseMs = 60_000;

const takeSql = `
UPDATE erasure SET lease_owner = $1, lease_until = clock_now() + interval '${leaseMs} milliseconds'
WHERE erasure_id IN (
  SELECT erasure_id FROM erasure WHERE state = 'running' AND (lease_until IS NULL OR lease_until < clock_now())
  ORDER BY approved_at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING erasure_id, organizations`;
const giveBackSql = `UPDATE erasure SET lease_owner = NULL, lease_until = NULL WHERE erasure_id = $1 AND lease_owner = $2`;
const openSql = "SELECT erasure_id FROM erasure WHERE state = 'running' ORDER BY approved_at";

interface Taken {
  erasure_id: string;
  organizations: string[];
}

/**
 * One round of every erasure that is not acknowledged everywhere. Every step may be repeated, so that whoever takes one on after a crash begins it
 * again. One that fails does not keep the others from their turn; the first failure is thrown at the end.
 */
export async function runErasures(tools: ErasureTools): Promise<void> {
  const { db } = tools;
  await eraseLate(db);
  const failures: unknown[] = [];
  const open = await db.sql<{ erasure_id: string }>('operator.open_erasures', openSql, []);
  const runner = randomUUID();
  const done = new Set<string>();
  for (let left = open.length; left > 0; left -= 1) {
    const [taken] = await db.sql<Taken>('operator.take_erasure', takeSql, [runner]);
    if (taken === undefined || done.has(taken.erasure_id)) break;
    done.add(taken.erasure_id);
    await round(tools, taken, runner).catch((error: unknown) => void failures.push(error));
  }
  for (const erasureId of done) await db.sql('operator.give_back_erasure', giveBackSql, [erasureId, runner]);
  if (failures.length > 0) throw failures[0];
}

/** Where everything is counted as gone, the person's keyed hash is not needed any more; records at destinations may still be to do. */
const finishSql = `
WITH ended AS (
  UPDATE erasure e SET erased_at = clock_now(), lease_owner = NULL, lease_until = NULL,
    state = CASE WHEN EXISTS (SELECT FROM erasure_task t WHERE t.erasure_id = e.erasure_id AND t.done_at IS NULL) THEN 'tasks' ELSE 'complete' END,
    completed_at = CASE WHEN EXISTS (SELECT FROM erasure_task t WHERE t.erasure_id = e.erasure_id AND t.done_at IS NULL) THEN NULL ELSE clock_now() END
  WHERE e.erasure_id = $1 AND e.state = 'running' AND e.lease_owner = $2
  RETURNING e.erasure_id, e.state
), forgotten AS (
  UPDATE erasure_lead l SET person_key = NULL FROM ended WHERE l.erasure_id = ended.erasure_id
)
SELECT state FROM ended`;

async function round(
  { db, services, logger }: ErasureTools,
  { erasure_id: erasureId, organizations }: Taken,
  runner: string,
): Promise<void> {
  const leads = await leadsOf(db, erasureId);
  const eventIds = leads.map(({ event_id }) => event_id);
  const { counts, references, became } = await services.erase(leads);
  await addLeads(db, erasureId, became);
  await eraseOwn(db, eventIds);
  const remains = new Map([...counts, [ownPlace, await countOwn(db, eventIds)]]);
  await addTasks(db, erasureId, references);
  await writeCounts(db, erasureId, { counts: remains, before: false });
  // Of a lead that has joined them nothing is erased or counted yet.
  if (became.length > 0 || [...remains.values()].some((count) => count > 0)) return;
  await db.transaction(async (tx) => {
    const [ended] = await tx.sql<{ state: string }>('operator.finish_erasure', finishSql, [erasureId, runner]);
    if (ended === undefined) return;
    const organization = organizations.length === 1 ? organizations[0] : null;
    const subject = { erasure_id: erasureId, state: ended.state, leads: leads.length };
    await audit(tx, { caller: 'operator', person: 'operator', action: 'erasure.erased', organization, subject });
    logger.info({ count: leads.length, state: ended.state }, 'Erasure acknowledged everywhere');
  });
}

const expireSql = `
UPDATE erasure SET state = 'expired' WHERE state = 'draft' AND expires_at < clock_now() RETURNING erasure_id, organizations`;
/** The proof is kept as long as the keys of leads are; what was never approved proves nothing. */
const purgeSql = `
WITH gone AS (
  DELETE FROM erasure WHERE erasure_id IN (
    SELECT erasure_id FROM erasure WHERE (state = 'expired' AND created_at < clock_now() - interval '7 days')
      OR (state = 'complete' AND completed_at < clock_now() - interval '400 days') LIMIT 100)
  RETURNING erasure_id
), leads AS (DELETE FROM erasure_lead USING gone WHERE erasure_lead.erasure_id = gone.erasure_id),
places AS (DELETE FROM erasure_place USING gone WHERE erasure_place.erasure_id = gone.erasure_id)
DELETE FROM erasure_task USING gone WHERE erasure_task.erasure_id = gone.erasure_id`;

/** Ends drafts that nobody approved, and deletes erasures after their time. */
export async function tidyErasures({ db }: Pick<ErasureTools, 'db'>): Promise<void> {
  await db.transaction(async (tx) => {
    const late = await tx.sql<Taken>('operator.expire_erasures', expireSql, []);
    for (const { erasure_id, organizations } of late) {
      const organization = organizations.length === 1 ? organizations[0] : null;
      const entry = { caller: 'operator', person: 'operator', action: 'erasure.expire', organization };
      await audit(tx, { ...entry, subject: { erasure_id, state: 'expired' } });
    }
  });
  await db.sql('operator.purge_erasures', purgeSql, []);
}
