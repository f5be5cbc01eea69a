import { z } from 'zod';
import type { Sql } from '#runtime';
import { aboutBlocked, blockedDestination } from './held/blocked-destinations.js';
import { unavailableOwners } from './held/held-item.js';
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
  blocked: z.array(blockedDestination).optional().describe(aboutBlocked),
  unavailable: unavailableOwners.optional(),
});
export type GroupsAnswer = z.infer<typeof groupsAnswer>;

interface Row extends Omit<LetterGroup, 'trend' | 'next_action' | 'runbook'> {
  /** Pairs of an hour, 1 for the oldest to 24, and its letters: one for each kind of letter in the group. */
  hourly: [number, number][] | null;
  as_of: Date;
  groups: number;
}

/** Begin of each of the last hours, the oldest first. */
const hourBegins = `array(SELECT (SELECT now FROM clock) - n * interval '1 hour' FROM generate_series(${hours}, 1, -1) n)`;

/**
 * One pass over the times of the open letters, by kind and hour; what letters of a kind have in common is looked at once a kind, and only shown
 * groups are looked at more closely. The newest letters of a group are among those of the kinds that had the newest.
 */
const textOf = (where: string, limit: string): string => `
WITH clock AS MATERIALIZED (SELECT clock_now() AS now),
by_hour AS MATERIALIZED (
  SELECT kind_id, width_bucket(dead_at, ${hourBegins}) AS hour, count(*) AS count, min(dead_at) AS first_at, max(dead_at) AS last_at,
    min(respond_by) AS respond_by, count(*) FILTER (WHERE respond_by < (SELECT now FROM clock)) AS overdue
  FROM open_letter_times${where === 'true' ? '' : ` WHERE kind_id IN (SELECT kind_id FROM letter_kind WHERE ${where})`} GROUP BY kind_id, hour
), by_kind AS MATERIALIZED (
  SELECT kind_id, group_key, disposition, assignee, first_at, last_at, respond_by, count, overdue, hour
  FROM by_hour JOIN letter_kind USING (kind_id)
), found AS (
  SELECT group_key, min(kind_id) AS kind_id, sum(count)::int AS count, min(first_at) AS first_at, max(last_at) AS last_at,
    min(respond_by) AS respond_by, sum(overdue)::int AS overdue,
    json_agg(json_build_array(hour, count)) FILTER (WHERE hour > 0) AS hourly,
    CASE WHEN min(disposition) = max(disposition) THEN min(disposition) ELSE 'mixed' END AS disposition,
    CASE WHEN min(assignee) = max(assignee) AND count(assignee) = count(*) THEN min(assignee) END AS assignee
  FROM by_kind GROUP BY group_key
), shown AS MATERIALIZED (
  SELECT *, (count(*) OVER ())::int AS groups FROM found ORDER BY count DESC, group_key LIMIT ${limit}
), newest AS (
  SELECT group_key, kind_id, row_number() OVER (PARTITION BY group_key ORDER BY max(last_at) DESC) AS place
  FROM by_kind WHERE group_key IN (SELECT group_key FROM shown) GROUP BY group_key, kind_id
), sampled AS (
  SELECT group_key, (array_agg(one.event_id::text ORDER BY one.dead_at DESC))[1:${samples}] AS sample_event_ids
  FROM newest, LATERAL (SELECT event_id, dead_at FROM open_letter_times
    WHERE open_letter_times.kind_id = newest.kind_id AND event_id IS NOT NULL ORDER BY dead_at DESC LIMIT ${samples}) one
  WHERE place <= ${samples} GROUP BY group_key
)
SELECT shown.group_key AS key, class, destination, code, schema_id, shown.count, first_at, last_at, shown.respond_by, overdue,
  owner, shown.disposition, shown.assignee, hourly, groups, clock.now AS as_of, coalesce(sample_event_ids, '{}') AS sample_event_ids
FROM clock LEFT JOIN shown ON true LEFT JOIN letter_kind USING (kind_id) LEFT JOIN sampled ON sampled.group_key = shown.group_key
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
  for (const [hour, letters] of hourly ?? []) trend[hour - 1] = (trend[hour - 1] ?? 0) + letters;
  return { ...group, trend, ...adviceOf(group.class) };
}
