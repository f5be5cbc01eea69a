import { randomUUID } from 'node:crypto';
import type { Database, Sql } from '#runtime';
import type { NoticeEnd } from './after-sending.js';
import type { NoticeCount } from './notice-text.js';

export interface Untold {
  owner: string;
  test: boolean;
}

export interface ClaimedNotice extends Untold {
  notice_id: string;
  attempt_id: string;
  channel: string;
  letters: number;
  counts: NoticeCount[];
  respond_by: Date;
  attempts: number;
  /** Letters of messages since the last one that arrived, which may not have. */
  untold: number;
}

const untoldSql = 'SELECT DISTINCT owner, test FROM untold_letter';

/** Owners with letters that nobody told them of. */
export const findUntold = (db: Sql): Promise<Untold[]> => db.sql('operator.untold_owners', untoldSql, []);

const lockSql = "SELECT pg_advisory_xact_lock(hashtext('owner_notice'), hashtext($1))";
const toldSql = `
SELECT FROM owner_notice WHERE owner = $1 AND test = $2
  AND (state IN ('waiting', 'sending') OR created_at > clock_now() - $3::float8 * interval '1 millisecond') LIMIT 1`;
const noticeSql = `
WITH taken AS (
  DELETE FROM untold_letter WHERE owner = $1 AND test = $2 RETURNING dead_letter_id, class, destination, respond_by
), counted AS (
  SELECT class, destination, count(*)::int AS count, min(respond_by) AS respond_by FROM taken t
  WHERE EXISTS (SELECT FROM dead_letter d WHERE d.dead_letter_id = t.dead_letter_id AND d.state = 'open') GROUP BY class, destination
)
INSERT INTO owner_notice (notice_id, owner, test, channel, state, letters, counts, respond_by, created_at, due_at)
SELECT $3::uuid, $1, $2, $4::text, 'waiting', sum(count), jsonb_agg(jsonb_build_object('class', class, 'destination', destination, 'count', count)),
  min(respond_by), clock_now(), clock_now()
FROM counted HAVING sum(count) > 0 RETURNING notice_id`;
const forgetSql = 'DELETE FROM untold_letter WHERE owner = $1 AND test = $2';

/**
 * Makes a notice of all the letters that the owner was not told of, unless there was one within the window or one is on its way: then they
 * wait for the next. Letters that have closed meanwhile are left out. True where a notice was made.
 */
export function makeNotice(
  db: Database,
  { owner, test }: Untold,
  { channel, windowMs }: { channel: string; windowMs: number },
): Promise<boolean> {
  return db.transaction(async (tx) => {
    await tx.sql('operator.lock_notices', lockSql, [owner]);
    if ((await tx.sql('operator.notice_within_window', toldSql, [owner, test, windowMs])).length > 0) return false;
    return (await tx.sql('operator.make_notice', noticeSql, [owner, test, randomUUID(), channel])).length > 0;
  });
}

/** There is no channel to tell them by. */
export const forgetUntold = (db: Sql, { owner, test }: Untold): Promise<unknown> =>
  db.sql('operator.forget_untold', forgetSql, [owner, test]);

const lostSql = `
UPDATE owner_notice SET state = 'uncertain', code = 'process_lost', ended_at = clock_now() WHERE state = 'sending' AND lease_until < clock_now()
RETURNING owner`;

/** Whoever sent these is gone, and nobody knows how far it came. */
export const endLost = (db: Sql): Promise<{ owner: string }[]> => db.sql('operator.lost_notices', lostSql, []);

const claimSql = `
UPDATE owner_notice n SET state = 'sending', attempt_id = $1, attempts = attempts + 1, lease_until = clock_now() + $2::float8 * interval '1 millisecond'
WHERE notice_id = (
  SELECT notice_id FROM owner_notice WHERE state = 'waiting' AND due_at <= clock_now() ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING notice_id, attempt_id, owner, test, channel, letters, counts, respond_by, attempts,
  (SELECT coalesce(sum(b.letters), 0)::int FROM owner_notice b WHERE b.owner = n.owner AND b.test = n.test AND b.state IN ('uncertain', 'refused')
    AND b.created_at > coalesce((SELECT max(s.created_at) FROM owner_notice s WHERE s.owner = n.owner AND s.test = n.test AND s.state = 'sent'),
      '-infinity')) AS untold`;

/** Takes the notice that is due first; from then on nobody else sends it. */
export async function claimNotice(db: Sql, leaseMs: number): Promise<ClaimedNotice | undefined> {
  const [claimed] = await db.sql<ClaimedNotice>('operator.claim_notice', claimSql, [randomUUID(), leaseMs]);
  return claimed;
}

/** A late answer still says what became of it. */
const endSql = `
UPDATE owner_notice SET state = $3, code = $4, reference = $5, due_at = clock_now() + $6::float8 * interval '1 millisecond',
  ended_at = CASE WHEN $3 = 'waiting' THEN NULL ELSE clock_now() END
WHERE notice_id = $1 AND attempt_id = $2 AND (state = 'sending' OR (state = 'uncertain' AND $3 <> 'waiting'))`;

/** Writes what the attempt came to. */
export async function endNotice(db: Sql, { notice_id, attempt_id }: ClaimedNotice, end: NoticeEnd): Promise<void> {
  const code = 'code' in end ? end.code : null;
  const reference = end.state === 'sent' ? (end.reference ?? null) : null;
  await db.sql('operator.end_notice', endSql, [
    notice_id,
    attempt_id,
    end.state,
    code,
    reference,
    end.state === 'waiting' ? end.afterMs : 0,
  ]);
}

const purgeSql = `
DELETE FROM owner_notice WHERE notice_id IN (
  SELECT notice_id FROM owner_notice WHERE ended_at < clock_now() - interval '90 days' ORDER BY ended_at LIMIT 500)`;

/** Deletes notices that ended three months ago. */
export const purgeNotices = (db: Sql): Promise<unknown> => db.sql('operator.purge_notices', purgeSql, []);
