import { z } from 'zod';
import type { ListDiscrepanciesAnswer, listDiscrepanciesRequest } from '#delivery';
import type { Sql } from '#runtime';
import { type DiscrepancyRow, discrepancyColumns, toDiscrepancy } from './discrepancy-row.js';

const listSql = `
SELECT ${discrepancyColumns} FROM discrepancy
WHERE ($1::uuid[] IS NULL OR discrepancy_id = ANY ($1)) AND ($2::uuid[] IS NULL OR event_id = ANY ($2))
  AND ($3::uuid IS NULL OR last_run_id = $3 OR first_run_id = $3) AND ($4::text IS NULL OR class = $4) AND ($5::text IS NULL OR destination = $5)
  AND ($6::text[] IS NULL OR state = ANY ($6)) AND ($7::text IS NULL OR owner = $7)
  AND ($8::text[] IS NULL OR organization IS NULL OR organization = ANY ($8))
  AND (first_seen_at, discrepancy_id) > (to_timestamp(0) + $9::bigint * interval '1 microsecond', $10::uuid)
ORDER BY first_seen_at, discrepancy_id LIMIT $11`;

const cursor = z.tuple([z.string().regex(/^\d{1,18}$/), z.uuid()]);
const beginning: z.infer<typeof cursor> = ['0', '00000000-0000-0000-0000-000000000000'];

type Asked = z.output<typeof listDiscrepanciesRequest>;

/** Discrepancies, the oldest first. A cursor that is none of ours begins anew. Throws DatabaseUnavailable. */
export async function listDiscrepancies(db: Sql, asked: Asked): Promise<ListDiscrepanciesAnswer> {
  const states = asked.state === undefined ? null : [asked.state].flat();
  const rows = await db.sql<DiscrepancyRow>('reconciler.list', listSql, [
    asked.ids ?? null,
    asked.event_ids ?? null,
    asked.run_id ?? null,
    asked.class ?? null,
    asked.destination ?? null,
    states,
    asked.owner ?? null,
    asked.organizations ?? null,
    ...readCursor(asked.after),
    asked.limit,
  ]);
  const last = rows.length === asked.limit ? rows.at(-1) : undefined;
  return { items: rows.map(toDiscrepancy), ...(last && { next: writeCursor([last.first_seen_us, last.discrepancy_id]) }) };
}

/** Place after a row, by its time in microseconds and its id. */
export const writeCursor = (place: [string, string]): string => Buffer.from(JSON.stringify(place)).toString('base64url');

export function readCursor(after: string | undefined): [string, string] {
  if (after === undefined) return beginning;
  try {
    return cursor.parse(JSON.parse(Buffer.from(after, 'base64url').toString()));
  } catch {
    return beginning;
  }
}
