import type { z } from 'zod';
import type { ListRunsAnswer, listRunsRequest } from '#delivery';
import type { Sql } from '#runtime';
import { readCursor, writeCursor } from '../discrepancies/list-discrepancies.js';
import { type RunRow, runColumns, toRun } from './run-row.js';

const listSql = `
SELECT ${runColumns}, (extract(epoch FROM created_at) * 1000000)::bigint::text AS created_us FROM run
WHERE ($1::uuid[] IS NULL OR run_id = ANY ($1)) AND ($2::text IS NULL OR destination = $2) AND ($3::text IS NULL OR state = $3)
  AND ($4::bool OR (created_at, run_id) < (to_timestamp(0) + $5::bigint * interval '1 microsecond', $6::uuid))
ORDER BY created_at DESC, run_id DESC LIMIT $7`;

/** Runs, the newest first. Throws DatabaseUnavailable. */
export async function listRuns(
  db: Sql,
  { ids, destination, state, after, limit }: z.output<typeof listRunsRequest>,
): Promise<ListRunsAnswer> {
  const rows = await db.sql<RunRow & { created_us: string }>('reconciler.runs', listSql, [
    ids ?? null,
    destination ?? null,
    state ?? null,
    after === undefined,
    ...readCursor(after),
    limit,
  ]);
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return { items: rows.map(toRun), ...(last && { next: writeCursor([last.created_us, last.run_id]) }) };
}
