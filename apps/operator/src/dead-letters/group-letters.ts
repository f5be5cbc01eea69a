import { z } from 'zod';
import type { Sql } from '#runtime';
import { addFilter, Conditions, type LetterFilter, letterFilter, type Reader } from './letter-filter.js';
import { adviceOf } from './letter-item.js';
import { statementName } from './statement-name.js';

const hours = 24;
const samples = 3;

/** One lead is no group. */
const { q_ref: _, ...filter } = letterFilter;

export const groupsQuery = z.strictObject({
  ...filter,
  limit: z.coerce.number().int().min(1).max(500).default(200),
});
export type GroupsQuery = z.infer<typeof groupsQuery>;

export const letterGroup = z.object({
  key: z.string(),
  class: z.string(),
  destination: z.string().nullable(),
  code: z.string().nullable(),
  schema_id: z.number().nullable(),
  count: z.number(),
  first_at: z.date().describe('When the first of them ended; of what waits, when its lead was submitted.'),
  last_at: z.date(),
  trend: z.array(z.number()).length(hours).describe('How many ended in each of the last 24 hours, the oldest hour first.'),
  owner: z.string(),
  respond_by: z.date().nullable().describe('The earliest time for an answer.'),
  overdue: z.number(),
  disposition: z.string().describe('`mixed`: not the same for all of them.'),
  assignee: z.string().nullable(),
  next_action: z.string().optional(),
  runbook: z.string().optional(),
  sample_event_ids: z.array(z.string()),
});
export type LetterGroup = z.infer<typeof letterGroup>;

export const groupsAnswer = z.object({
  as_of: z.date().describe('What is decided about a group as of then leaves out letters that came later.'),
  items: z.array(letterGroup),
  left_out: z.number().describe('Smaller groups that are not shown.'),
});
export type GroupsAnswer = z.infer<typeof groupsAnswer>;

interface Row extends Omit<LetterGroup, 'trend' | 'next_action' | 'runbook'> {
  /** Pairs of an hour, 1 for the oldest to 24, and its letters. */
  hourly: [number, number][] | null;
  as_of: Date;
  groups: number;
}

/** Begin of each of the last hours, the oldest first. */
const hourBegins = `array(SELECT (SELECT now FROM clock) - n * interval '1 hour' FROM generate_series(${hours}, 1, -1) n)`;

/** One pass over the narrow rows of the open letters, by group and hour; only shown groups are looked at more closely. */
const textOf = (where: string, limit: string): string => `
WITH clock AS MATERIALIZED (SELECT clock_now() AS now),
by_hour AS MATERIALIZED (
  SELECT group_key, width_bucket(dead_at, ${hourBegins}) AS hour, count(*) AS count, min(dead_at) AS first_at, max(dead_at) AS last_at,
    min(respond_by) AS respond_by, count(*) FILTER (WHERE respond_by < (SELECT now FROM clock)) AS overdue,
    min(disposition) AS disposition, max(disposition) AS other_disposition, min(assignee) AS assignee, max(assignee) AS other_assignee,
    count(assignee) AS assigned
  FROM open_letter WHERE ${where} GROUP BY group_key, hour
), found AS (
  SELECT group_key, sum(count)::int AS count, min(first_at) AS first_at, max(last_at) AS last_at, min(respond_by) AS respond_by,
    sum(overdue)::int AS overdue, json_agg(json_build_array(hour, count)) FILTER (WHERE hour > 0) AS hourly,
    CASE WHEN min(disposition) = max(other_disposition) THEN min(disposition) ELSE 'mixed' END AS disposition,
    CASE WHEN min(assignee) = max(other_assignee) AND sum(assigned) = sum(count) THEN min(assignee) END AS assignee
  FROM by_hour GROUP BY group_key
), shown AS MATERIALIZED (
  SELECT *, (count(*) OVER ())::int AS groups FROM found ORDER BY count DESC, group_key LIMIT ${limit}
)
SELECT shown.group_key AS key, one.class, one.destination, one.code, one.schema_id, shown.count, first_at, last_at, shown.respond_by, overdue,
  one.owner, shown.disposition, shown.assignee, hourly, groups, clock.now AS as_of,
  array(SELECT event_id::text FROM open_letter
    WHERE ${where} AND open_letter.group_key = shown.group_key AND event_id IS NOT NULL ORDER BY dead_at DESC LIMIT ${samples}) AS sample_event_ids
FROM clock LEFT JOIN shown ON true
LEFT JOIN LATERAL (
  SELECT class, destination, code, schema_id, owner FROM open_letter WHERE open_letter.group_key = shown.group_key LIMIT 1) one ON true
ORDER BY count DESC, shown.group_key`;

/** Open letters that the reader may see, by what is the same about their failure; the largest groups first. */
export async function groupLetters(db: Sql, query: GroupsQuery, reader: Reader): Promise<GroupsAnswer> {
  const { limit, ...asked } = query;
  const conditions = addFilter(new Conditions(), asked satisfies LetterFilter, reader);
  const where = conditions.sql;
  const text = textOf(where, conditions.value(limit));
  const rows = await db.sql<Row | Nothing>(statementName('groups', text), text, conditions.values);
  const groups = rows.filter((row): row is Row => row.key !== null);
  return { as_of: rows[0]?.as_of ?? new Date(0), items: groups.map(toGroup), left_out: (groups[0]?.groups ?? 0) - groups.length };
}

/** The one row that says when, where there is no group. */
interface Nothing {
  key: null;
  as_of: Date;
}

function toGroup({ hourly, as_of: _, groups: __, ...group }: Row): LetterGroup {
  const trend = Array.from({ length: hours }, () => 0);
  for (const [hour, letters] of hourly ?? []) trend[hour - 1] = letters;
  return { ...group, trend, ...adviceOf(group.class) };
}
