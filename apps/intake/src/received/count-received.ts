import { type Column, columnValues, type Sql, unnestColumns } from '#runtime';

/** Outcomes that make no lead, of one source. */
export interface Uncounted {
  /** Both empty: no configured source. */
  organization: string;
  source: string;
  repeats?: number;
  conflicts?: number;
  rejected?: number;
}

/** Of the row that a connection counts in. Two that share one wait for each other, and count right all the same. */
export const slotSql = '(pg_backend_pid() % 64)::smallint';
const countedNames = ['received', 'accepted', 'repeats', 'conflicts', 'rejected'] as const;
/** End of an insert into `received as tally`. */
export const addSql = `on conflict (day, organization, source, slot) do update set ${countedNames.map((name) => `${name} = tally.${name} + excluded.${name}`).join(', ')}`;
/** Day of a time in SQL. */
export const dayOfSql = (time: string): string => `(${time} at time zone 'UTC')::date`;

const columns: readonly Column<Uncounted>[] = [
  ['organization', 'text', (row) => row.organization],
  ['source', 'text', (row) => row.source],
  ['repeats', 'int4', (row) => row.repeats ?? 0],
  ['conflicts', 'int4', (row) => row.conflicts ?? 0],
  ['rejected', 'int4', (row) => row.rejected ?? 0],
];

const sql = `
insert into received as tally (day, organization, source, slot, received, repeats, conflicts, rejected)
select ${dayOfSql('clock_now()')}, organization, source, ${slotSql}, sum(repeats + conflicts + rejected), sum(repeats), sum(conflicts), sum(rejected)
from ${unnestColumns('input', columns)} group by organization, source order by organization, source
${addSql}`;

/** Counts what was received and made no lead. Throws DatabaseUnavailable. */
export async function countReceived(db: Sql, outcomes: readonly Uncounted[]): Promise<void> {
  if (outcomes.length > 0) await db.sql('intake.count_received', sql, columnValues(columns, outcomes));
}
