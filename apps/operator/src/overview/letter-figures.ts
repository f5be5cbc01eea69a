import type { Sql } from '#runtime';
import { addReader, Conditions, type Reader } from '../dead-letters/letter-filter.js';
import { statementName } from '../dead-letters/statement-name.js';

/** Open letters of real leads. */
export interface LetterFigure {
  /** Null: none could be read. Notifications are one. */
  destination: string | null;
  state: 'dead' | 'expired' | 'uncertain';
  owner: string;
  count: number;
  overdue: number;
  /** Since the oldest lead among them was submitted. */
  age_ms: number;
}

export async function letterFigures(db: Sql, reader: Reader): Promise<LetterFigure[]> {
  const conditions = addReader(new Conditions().add('NOT test'), reader);
  const text = `
WITH clock AS MATERIALIZED (SELECT clock_now() AS now), by_kind AS MATERIALIZED (
  SELECT kind_id, count(*) AS count, count(*) FILTER (WHERE respond_by < (SELECT now FROM clock)) AS overdue, min(age_from) AS age_from
  FROM open_letter_times GROUP BY kind_id)
SELECT CASE WHEN destination LIKE 'lead/%' THEN 'notifications' ELSE destination END AS destination,
  CASE class WHEN 'deadline_exceeded' THEN 'expired' WHEN 'unverified_write' THEN 'uncertain' ELSE 'dead' END AS state, owner,
  sum(count)::int AS count, sum(overdue)::int AS overdue,
  floor(extract(epoch FROM (SELECT now FROM clock) - min(age_from)) * 1000)::float8 AS age_ms
FROM by_kind JOIN letter_kind USING (kind_id) WHERE ${conditions.sql} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;
  return db.sql<LetterFigure>(statementName('letter_figures', text), text, conditions.values);
}
