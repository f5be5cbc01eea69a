import { z } from 'zod';
import type { DeliveryState, LeadAccepted, LeadResolved } from '#contracts';
import type { Logger, Sql } from '#runtime';
import { newerFields, rankOf } from '../contacts/rank.js';
import { lateAfter } from './ddl.js';
import type { WindowAnswer, WindowItem, WindowOperation, windowRequest } from './window-request.js';

/** What an event says of its lead. */
export type EventOfWindow = Pick<LeadAccepted | LeadResolved, 'organization' | 'form' | 'campaign' | 'accepted_at'>;

export interface WindowOptions {
  db: Sql;
  /** Reads the stored bytes. Rejects where they cannot be read: such a delivery is left out, and a log line says so. */
  decode(event: Buffer): EventOfWindow | Promise<EventOfWindow>;
  logger: Logger;
}

interface OperationRow extends Omit<WindowOperation, 'generation' | 'ref'> {
  ref: string | null;
}

interface WindowRow {
  event_id: string;
  destination: string;
  lead_ref: string;
  test: boolean;
  state: DeliveryState;
  submitted_at: Date;
  submitted_us: string;
  updated_at: Date;
  generation: number;
  record_key: Buffer | null;
  event: Buffer;
  operations: OperationRow[] | null;
  contact_fields: Record<string, string> | null;
  contact_written_at: string | null;
  contact_held: boolean | null;
  contact_ref: string | null;
  replay_item: string | null;
}

const iso = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** An answer, a lookup or a person's word that names the record; `saw`: the destination was asked again and had it, which is more than its word at the write. */
const evidence = `CROSS JOIN LATERAL (
      SELECT coalesce(bool_or(a.outcome IN ('succeeded', 'duplicate', 'lookup_found', 'evidence_found')), false) AS tells,
        coalesce(bool_or(a.destination_ref = o.destination_ref AND a.outcome IN ('duplicate', 'lookup_found', 'evidence_found')), false) AS saw
      FROM attempt a WHERE a.operation_key = ANY (ARRAY(
        SELECT regexp_replace(o.operation_key, '~g[0-9]+$', '') || CASE WHEN g = 1 THEN '' ELSE '~g' || g END
        FROM generate_series(1, d.generation) AS g))
    ) AS said`;

const operations = `(
    SELECT json_agg(json_build_object('operation_key', o.operation_key, 'kind', o.kind, 'state', o.state, 'ref', o.destination_ref,
      'attempts', o.attempts, 'recorded_at', ${iso('o.updated_at')}, 'with_evidence', said.tells, 'seen_there', said.saw) ORDER BY k.position)
    FROM unnest(d.operation_keys) WITH ORDINALITY AS k(operation_key, position) JOIN operation o ON o.operation_key = k.operation_key
    ${evidence}
  )`;

const columns = `d.event_id, d.destination, d.lead_ref, d.test, d.state, d.submitted_at, d.updated_at, d.generation, d.record_key, d.event,
  (extract(epoch FROM d.submitted_at) * 1000000)::bigint::text AS submitted_us, d.replay_item, ${operations} AS operations,
  c.fields AS contact_fields, ${iso('c.written_at')} AS contact_written_at, c.owner_key IS NOT NULL AS contact_held, c.contact_ref`;
const joined = `LEFT JOIN contact_state c ON c.destination = d.destination AND c.person_key = convert_from(d.record_key, 'UTF8')`;

/** The parameters of a page: destination, from, to, state, place, place's event, limit. */
const nextPage = `destination = $1 AND ($4::text IS NULL OR state = $4)
    AND (submitted_at, event_id) > (to_timestamp(0) + $5::bigint * interval '1 microsecond', $6::uuid)`;
const oldestFirst = 'ORDER BY submitted_at, event_id LIMIT $7';

/**
 * In a window lies what was submitted in it, and what ended in it, however early it was submitted. What ended within a minute is found among what
 * was submitted a minute before the window; the few that took longer have an index of their own. A window that is over gains nothing any more.
 */
const windowSql = `
WITH page AS MATERIALIZED (
  SELECT * FROM (
    (SELECT * FROM delivery WHERE ${nextPage} AND submitted_at < $2::timestamptz - ${lateAfter}
        AND updated_at - submitted_at > ${lateAfter} AND updated_at >= $2 AND updated_at < $3
      ${oldestFirst})
    UNION ALL
    (SELECT * FROM delivery WHERE ${nextPage} AND submitted_at >= $2::timestamptz - ${lateAfter} AND submitted_at < $3
        AND (submitted_at >= $2 OR updated_at >= $2 AND updated_at < $3)
      ${oldestFirst})
  ) AS both_parts ${oldestFirst}
)
SELECT ${columns} FROM page d ${joined} ORDER BY d.submitted_at, d.event_id`;

const namedSql = `
SELECT ${columns} FROM delivery d ${joined}
WHERE d.event_id = ANY ($1::uuid[]) AND ($2::text IS NULL OR d.destination = $2) AND ($3::text IS NULL OR d.state = $3)
ORDER BY d.submitted_at, d.event_id, d.destination`;

/** A person's row keeps for each field the submission that wrote it last, as its rank. */
const personsSql = `
SELECT ${columns} FROM delivery d ${joined}
WHERE d.destination = $1 AND ($3::text IS NULL OR d.state = $3) AND d.event_id IN (
  SELECT split_part(f.value, ':', 2)::uuid FROM contact_state p, jsonb_each_text(p.fields) AS f WHERE p.destination = $1 AND p.person_key = ANY ($2::text[]))
ORDER BY d.submitted_at, d.event_id`;

const cursor = z.tuple([z.string().regex(/^\d{1,18}$/), z.uuid()]);
const beginning: z.infer<typeof cursor> = ['0', '00000000-0000-0000-0000-000000000000'];

type Asked = z.output<typeof windowRequest>;

/**
 * Handler of POST /internal/v1/deliveries:window: the deliveries of a destination that were submitted in a window or whose state changed
 * last in it, or those of some events or persons, with what a comparison needs. A page may hold fewer than `limit` although more follow: only `next` says so. A cursor that is none of ours begins anew.
 */
export function windowRoute(options: WindowOptions): (body: Asked) => Promise<WindowAnswer> {
  return async (asked) => {
    const rows = await readRows(options.db, asked);
    const items = await Promise.all(rows.map((row) => toItem(options, row)));
    const wanted = items.filter((item) => item !== undefined).filter((item) => isAsked(asked, item));
    const last = asked.event_ids === undefined && asked.person_keys === undefined && rows.length === asked.limit ? rows.at(-1) : undefined;
    return { items: wanted, ...(last && { next: writeCursor(last) }) };
  };
}

function readRows(db: Sql, asked: Asked): Promise<WindowRow[]> {
  const { destination, from, to, outcome, after, limit, event_ids: eventIds, person_keys: personKeys } = asked;
  if (eventIds !== undefined) {
    return db.sql('delivery.window_named', namedSql, [eventIds, destination ?? null, outcome ?? null]);
  }
  if (personKeys !== undefined) {
    return db.sql('delivery.window_persons', personsSql, [destination, personKeys, outcome ?? null]);
  }
  const [us, eventId] = readCursor(after);
  return db.sql('delivery.window', windowSql, [destination, new Date(from), new Date(to), outcome ?? null, us, eventId, limit]);
}

const isAsked = ({ form, campaign }: Asked, item: WindowItem): boolean =>
  (form === undefined || item.form === form) && (campaign === undefined || item.campaign === campaign);

const writeCursor = (row: WindowRow): string => Buffer.from(JSON.stringify([row.submitted_us, row.event_id])).toString('base64url');

function readCursor(after: string | undefined): z.infer<typeof cursor> {
  if (after === undefined) return beginning;
  try {
    return cursor.parse(JSON.parse(Buffer.from(after, 'base64url').toString()));
  } catch {
    return beginning;
  }
}

const finalStates: readonly DeliveryState[] = ['delivered', 'dead', 'expired', 'discarded', 'erased'];

async function toItem({ decode, logger }: WindowOptions, row: WindowRow): Promise<WindowItem | undefined> {
  const { event_id, destination, lead_ref, test, state, generation } = row;
  const event = await Promise.resolve(row.event)
    .then(decode)
    .catch((err: unknown) => void logger.warn({ err, event_id, destination }, 'The event of a delivery cannot be read'));
  if (event === undefined) return undefined;
  const rank = rankOf({ submittedAt: row.submitted_at, eventId: event_id });
  const fields = row.contact_fields ?? {};
  return {
    event_id,
    destination,
    lead_ref,
    organization: event.organization,
    form: event.form ?? undefined,
    campaign: event.campaign ?? undefined,
    test,
    state,
    submitted_at: row.submitted_at.toISOString(),
    accepted_at: event.accepted_at.toISOString(),
    finished_at: finalStates.includes(state) ? row.updated_at.toISOString() : undefined,
    generation,
    person_key: row.record_key?.toString() || undefined,
    event: row.event.toString('base64'),
    operations: (row.operations ?? []).map(toOperation),
    newer_fields: newerFields(Object.keys(fields), fields, rank),
    contact_written_at: row.contact_written_at ?? undefined,
    contact_held: row.contact_held ?? false,
    contact_ref: row.contact_ref ?? undefined,
    repair_item: row.replay_item ?? undefined,
  };
}

function toOperation({ ref, ...operation }: OperationRow): WindowOperation {
  const generation = Number(/~g(\d+)$/.exec(operation.operation_key)?.[1] ?? 1);
  return { ...operation, ref: ref ?? undefined, generation };
}
