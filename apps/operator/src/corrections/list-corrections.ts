import { z } from 'zod';
import type { Sql } from '#runtime';
import { inOrganizations, organizationsValue, type Person } from '../people/person.js';
import { type CorrectionRow, correctionColumns, correctionReport, correctionStates, toReport } from './correction-row.js';

export const correctionsPage = z.object({ items: z.array(correctionReport), next: z.string().optional() });
export const correctionsQuery = z.strictObject({
  event_id: z.uuid().optional().describe('Only of this lead.'),
  state: z.enum(correctionStates).optional(),
  after: z.uuid().optional().describe('The `next` of the page before.'),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

/** A draft that is too old says that it has expired before a step notes it. Not asked of a subselect: that would be read whole, for its clock. */
const listSql = `
SELECT ${correctionColumns} FROM correction
WHERE ${inOrganizations('organization', 1)} AND ($2::uuid IS NULL OR event_id = $2)
  AND ($3::text IS NULL OR CASE WHEN state = 'draft' AND expires_at < clock_now() THEN 'expired' ELSE state END = $3)
  AND ($4::uuid IS NULL OR correction_id < $4)
ORDER BY correction_id DESC LIMIT $5`;

/** Those that the person may see, the newest first. */
export async function listCorrections(
  db: Sql,
  { event_id, state, after, limit }: z.infer<typeof correctionsQuery>,
  person: Person,
): Promise<z.infer<typeof correctionsPage>> {
  const values = [organizationsValue(person), event_id ?? null, state ?? null, after ?? null, limit];
  const rows = await db.sql<CorrectionRow>('operator.list_corrections', listSql, values);
  const next = rows.length === limit ? rows.at(-1)?.correction_id : undefined;
  return { items: rows.map(toReport), ...(next && { next }) };
}
