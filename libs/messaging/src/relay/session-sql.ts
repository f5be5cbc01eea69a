/**
 * Statements of the relay's connection. Advisory locks are per database, so their first key is a hash of the schema; it is kept positive since
 * pg_locks shows it unsigned.
 */
const laneKey = "(hashtext(current_schema() || '.outbox.lane') & 2147483647)";
const memberKey = "(hashtext(current_schema() || '.outbox.member') & 2147483647)";

export const identify = `SELECT pg_backend_pid() AS key, current_schema() || '.outbox' AS channel`;

/** Statistics of a queue are wrong at every moment, so the plans are fixed: nested loops over the one index. */
export const settings = ({ silenceMs, statementTimeoutMs }: { silenceMs: number; statementTimeoutMs: number }): string => `
  SET idle_session_timeout = ${silenceMs};
  SET statement_timeout = ${statementTimeoutMs};
  SET synchronous_commit = off;
  SET plan_cache_mode = force_generic_plan;
  SET enable_seqscan = off;
  SET enable_bitmapscan = off;
  SET enable_hashjoin = off;
  SET enable_mergejoin = off;
  SET jit = off;
`;

/** Every relay holds a lock under its own key, which is how the others count it. */
export const join = `SELECT pg_advisory_lock(${memberKey}, pg_backend_pid())`;

export const beat = `
  WITH locks AS MATERIALIZED (
    SELECT classid::bigint AS class, objid::bigint AS object, pid FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND objsubid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  )
  SELECT (SELECT array_agg(object::integer ORDER BY object) FROM locks WHERE class = ${memberKey}) AS members,
         (SELECT array_agg(object::integer) FROM locks WHERE class = ${laneKey} AND pid = pg_backend_pid()) AS lanes,
         pg_snapshot_xmin(s)::text AS xmin, pg_snapshot_xmax(s)::text AS xmax
  FROM pg_current_snapshot() AS s`;

export const lock = `SELECT pg_try_advisory_lock(${laneKey}, $1::integer) AS locked`;
export const unlock = `SELECT pg_advisory_unlock(${laneKey}, $1::integer)`;

const content = (skipped: string): string => `
  o.id, o.lane, o.topic, ${skipped} AS skipped,
  CASE WHEN NOT ${skipped} THEN o.key END AS key,
  CASE WHEN NOT ${skipped} THEN o.value END AS value,
  CASE WHEN NOT ${skipped} THEN o.headers END AS headers`;

export const read = `
  SELECT ${content('(o.topic = ANY ($4::text[]))')}
  FROM unnest($1::smallint[], $2::bigint[]) AS l (lane, after)
  CROSS JOIN LATERAL (SELECT * FROM outbox WHERE outbox.lane = l.lane AND outbox.id > l.after ORDER BY outbox.id LIMIT $3) AS o`;

export const behind = `
  SELECT o.id, o.lane
  FROM unnest($1::smallint[], $2::bigint[]) AS l (lane, upto)
  CROSS JOIN LATERAL (
    SELECT id, lane FROM outbox
    WHERE outbox.lane = l.lane AND outbox.id > $3::bigint AND outbox.id <= l.upto AND outbox.topic <> ALL ($4::text[]) ORDER BY outbox.id
  ) AS o`;

const named = 'unnest($1::smallint[], $2::bigint[]) AS r (lane, id)';

export const fetch = `SELECT ${content('false')} FROM ${named} JOIN outbox AS o ON o.lane = r.lane AND o.id = r.id ORDER BY o.id`;

export const remove = `DELETE FROM outbox AS o USING ${named} WHERE o.lane = r.lane AND o.id = r.id`;

export const park = `
  WITH gone AS (DELETE FROM outbox WHERE lane = $1 AND id = $2 RETURNING id, topic, key, value, headers, created_at)
  INSERT INTO outbox_parked (id, topic, key, value, headers, created_at, parked_reason)
  SELECT id, topic, key, value, headers, created_at, $3 FROM gone
  ON CONFLICT (id) DO NOTHING`;

export const stats = `
  SELECT (SELECT count(*) FROM (SELECT FROM outbox LIMIT 100000) AS counted) AS pending,
         (SELECT count(*) FROM outbox_parked) AS parked,
         (SELECT extract(epoch FROM clock_timestamp() - min(o.created_at))::float8
          FROM unnest($1::smallint[]) AS l (lane)
          CROSS JOIN LATERAL (SELECT created_at FROM outbox WHERE outbox.lane = l.lane ORDER BY outbox.id LIMIT 1) AS o) AS age`;
