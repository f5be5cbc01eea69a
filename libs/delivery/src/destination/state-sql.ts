import type { Sql } from '#runtime';
import type { Draw, Drawn, QuotaBucket } from './quota-bucket.js';
import { type StateRow, stateAssignments, stateColumns, stateValues, toState } from './state-row.js';
import type { Change, Reading } from './state-store.js';

const clock = 'WITH clock AS MATERIALIZED (SELECT clock_now() AS now)';

/** Two processes change a row at the same time; ten of them hardly ever do. */
const changeTries = 20;

/** Makes sure that the rows are there. */
export async function ensureRows(sql: Sql, destinations: readonly string[]): Promise<void> {
  await sql.sql(
    'destination.ensure',
    `INSERT INTO destination_state (destination, changed_at) SELECT name, clock_now() FROM unnest($1::text[]) AS n(name)
     ON CONFLICT DO NOTHING`,
    [destinations],
  );
}

/** The rows that are there, by destination. */
export async function readRows(sql: Sql, destinations: readonly string[]): Promise<Map<string, Reading>> {
  const askedAtMs = performance.now();
  const rows = await sql.sql<StateRow>(
    'destination.read',
    `${clock} SELECT ${stateColumns} FROM destination_state, clock WHERE destination = ANY ($1::text[])`,
    [destinations],
  );
  return new Map(rows.map((row) => [row.destination, toReading(row, askedAtMs)]));
}

/** All rows, for people and other services. */
export function readAllRows(sql: Sql): Promise<StateRow[]> {
  return sql.sql<StateRow>(
    'destination.read_all',
    `${clock} SELECT ${stateColumns} FROM destination_state, clock ORDER BY destination`,
    [],
  );
}

/** Compare-and-set on the version: reads, decides, writes, and again where another was faster. Tells the other processes. */
export async function changeRow(sql: Sql, destination: string, change: Change): Promise<Reading> {
  for (let tries = 0; tries < changeTries; tries++) {
    const found = (await readRows(sql, [destination])).get(destination);
    if (found === undefined) {
      await ensureRows(sql, [destination]);
      continue;
    }
    const next = change(found.state, found.nowMs);
    if (next === undefined) return found;
    const askedAtMs = performance.now();
    const [row] = await sql.sql<StateRow>(
      'destination.change',
      `${clock}, changed AS (
         UPDATE destination_state SET ${stateAssignments} FROM clock WHERE destination = $1 AND version = $2 RETURNING ${stateColumns}
       )
       SELECT changed.*, pg_notify(${channel}, destination)::text FROM changed`,
      [destination, found.state.version, ...stateValues(next)],
    );
    if (row !== undefined) return toReading(row, askedAtMs);
  }
  throw new Error(`The state of ${destination} was changed by others each time`);
}

/** The schema's own channel: services may share a database. */
const channel = `current_schema() || '.destination_state'`;

export async function channelName(sql: Sql): Promise<string> {
  const [row] = await sql.sql<{ channel: string }>('destination.channel', `SELECT ${channel} AS channel`, []);
  return row?.channel ?? '';
}

const drawSql = `${clock},
held AS MATERIALIZED (SELECT quota_tokens, quota_at FROM destination_state WHERE destination = $1 FOR UPDATE),
filled AS (
  SELECT least($2::float8, coalesce(quota_tokens + greatest(0, extract(epoch FROM now - quota_at)::float8 * 1000) * $3::float8, $2)) - $5 AS left
  FROM held, clock
),
granted AS (SELECT filled.left, greatest(0, least($4::float8, floor(filled.left))) AS granted FROM filled)
UPDATE destination_state SET quota_tokens = granted.left - granted.granted, quota_at = greatest(quota_at, now) FROM granted, clock
WHERE destination = $1
RETURNING granted.granted, granted.left`;

/** Draws tokens; the arithmetic is that of `draw`. None are granted where the row is missing. */
export async function drawTokens(sql: Sql, destination: string, { bucket, want, owed }: Draw & { bucket: QuotaBucket }): Promise<Drawn> {
  const { capacity, perMs } = bucket;
  const [row] = await sql.sql<{ granted: number; left: number }>('destination.draw', drawSql, [destination, capacity, perMs, want, owed]);
  const { granted, left } = row ?? { granted: 0, left: 0 };
  return { granted, waitMs: granted > 0 ? 0 : (1 - left) / perMs };
}

const toReading = (row: StateRow, askedAtMs: number): Reading => ({
  state: toState(row),
  nowMs: row.now,
  askedAtMs,
  readAtMs: performance.now(),
});
