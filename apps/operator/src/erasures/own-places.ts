import type { Sql } from '#runtime';

const ofLeads = "(d.event_id = ANY ($1::uuid[]) OR d.reference = ANY (SELECT 'rejected:' || id FROM unnest($1::uuid[]) AS id))";

const countSql = `
SELECT count(*)::int AS records FROM dead_letter d WHERE ${ofLeads} AND (d.event IS NOT NULL OR d.record_key IS NOT NULL)`;

/** The bytes of the record go; what failed, and what was decided about it, stays by reference. */
const eraseSql = `UPDATE dead_letter d SET event = NULL, record_key = NULL WHERE ${ofLeads} AND (d.event IS NOT NULL OR d.record_key IS NOT NULL)`;

/** Behind a letter of intake there is no owner that could say that its delivery has ended. */
const closeSql = `
UPDATE dead_letter d SET state = 'closed', closed_as = 'erased', closed_at = clock_now() WHERE ${ofLeads} AND d.state = 'open' AND d.service = 'intake'`;

export const ownPlace = 'operator dead_letter_records';

/** How many letters still hold the bytes of their record. */
export async function countOwn(db: Sql, eventIds: readonly string[]): Promise<number> {
  const [row] = await db.sql<{ records: number }>('operator.erase_count', countSql, [eventIds]);
  return row?.records ?? 0;
}

export async function eraseOwn(db: Sql, eventIds: readonly string[]): Promise<void> {
  await db.sql('operator.erase_letters', eraseSql, [eventIds]);
  await db.sql('operator.erase_close', closeSql, [eventIds]);
}

/** The record of a letter may still have been on its way when all was counted. */
const lateSql = `
UPDATE dead_letter d SET event = NULL, record_key = NULL
FROM erasure e JOIN erasure_lead l USING (erasure_id)
WHERE d.event_id = l.event_id AND e.erased_at > clock_now() - interval '8 days' AND (d.event IS NOT NULL OR d.record_key IS NOT NULL)`;

/** Takes the bytes out of letters that came after the erasure of their lead; longer than the retention of their topic. */
export async function eraseLate(db: Sql): Promise<void> {
  await db.sql('operator.erase_late', lateSql, []);
}
