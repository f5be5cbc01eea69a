import type { Sql } from '#runtime';

/** A letter with an open item is kept until its item has ended. What else was approved for it goes with it. */
const lettersSql = `
WITH gone AS (
  DELETE FROM dead_letter WHERE dead_letter_id IN (
    SELECT dead_letter_id FROM dead_letter d WHERE state <> 'open' AND delete_after < clock_now()
      AND NOT EXISTS (SELECT FROM replay_item i WHERE i.dead_letter_id = d.dead_letter_id AND i.state = 'open')
    ORDER BY delete_after LIMIT 500)
  RETURNING dead_letter_id
), notes AS (
  DELETE FROM letter_note n USING gone WHERE n.dead_letter_id = gone.dead_letter_id
), items AS (
  DELETE FROM replay_item i USING gone WHERE i.dead_letter_id = gone.dead_letter_id
)
SELECT dead_letter_id FROM gone`;

/** What repaired something at a destination has no letter that it would go with. */
const repairsSql = `
DELETE FROM replay_item WHERE item_id IN (
  SELECT item_id FROM replay_item WHERE dead_letter_id IS NULL AND told_as = state AND closed_at < clock_now() - interval '400 days' LIMIT 500)`;
/** What was drafted and never approved. */
const draftedSql = `
DELETE FROM replay_item WHERE item_id IN (
  SELECT i.item_id FROM replay_item i JOIN replay_batch b USING (batch_id)
  WHERE i.dead_letter_id IS NULL AND i.state IN ('listed', 'skipped') AND b.ended_at < clock_now() - interval '400 days' LIMIT 500)`;

const batchesSql = `
DELETE FROM replay_batch WHERE batch_id IN (
  SELECT batch_id FROM replay_batch b WHERE state IN ('finished', 'stopped', 'expired')
    AND NOT EXISTS (SELECT FROM replay_item i WHERE i.batch_id = b.batch_id)
  LIMIT 500)`;

/**
 * Deletes closed letters whose time is over with their approved items, and ended batches that have no item left, 500 at a time; nothing that
 * is open. Who decided what stays in `audit`. Gives the number of letters.
 */
export async function purge(db: Sql): Promise<number> {
  const letters = await db.sql('operator.purge_letters', lettersSql, []);
  await db.sql('operator.purge_repairs', repairsSql, []);
  await db.sql('operator.purge_drafted_repairs', draftedSql, []);
  await db.sql('operator.purge_batches', batchesSql, []);
  return letters.length;
}
