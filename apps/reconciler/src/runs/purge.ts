import type { Sql } from '#runtime';

/** Rows that one statement deletes at most: more would hold them locked for long. */
const most = 5_000;

/** What goes, and after how long. A discrepancy that waits for somebody stays. */
const statements: Readonly<Record<string, string>> = {
  look: `ctid IN (SELECT ctid FROM look WHERE missed_at < clock_now() - interval '40 days' LIMIT ${most})`,
  seen: `ctid IN (SELECT ctid FROM seen WHERE seen_at < clock_now() - interval '40 days' LIMIT ${most})`,
  run: `ctid IN (SELECT ctid FROM run WHERE finished_at < clock_now() - interval '90 days' LIMIT ${most})`,
  discrepancy: `ctid IN (SELECT ctid FROM discrepancy WHERE state IN ('repaired', 'accepted', 'gone')
    AND changed_at < clock_now() - interval '90 days' AND last_seen_at < clock_now() - interval '90 days' LIMIT ${most})`,
  balance_day: `day < (clock_now() - interval '400 days')::date`,
  received_day: `day < (clock_now() - interval '400 days')::date`,
};

/** Nothing can be done about a message that came late but to learn from it: after this time it waits for nobody any more. */
const forgetLateSql = `
UPDATE discrepancy SET state = 'gone', changed_at = clock_now()
WHERE state = 'open' AND class = 'relationship' AND aspect = 'told_late' AND last_seen_at < clock_now() - interval '7 days'`;

/** Ends what ends by itself, and deletes what is kept no longer. Throws DatabaseUnavailable. */
export async function purgeOld(db: Sql): Promise<void> {
  await db.sql('reconciler.forget_late', forgetLateSql, []);
  for (const [table, old] of Object.entries(statements)) {
    for (;;) {
      const gone = await db.sql(`reconciler.purge_${table}`, `DELETE FROM ${table} WHERE ${old} RETURNING 1 AS gone`, []);
      if (gone.length < most) break;
    }
  }
}
