import { type DeliveryState, refusedRecord } from '#contracts';
import type { DeliveryStateItem, HistoryItem, UnresolvedAnswer, UnresolvedItem, UnresolvedRequest } from '#delivery';
import type { Sql } from '#runtime';
import { standingSql } from './item-states.js';

/** Deliveries that ended here: without a route, or to a destination that nobody serves any more. As of refused records, their letters are intake's own. */
const ownSql = `d.state = 'dead' and d.claimed_at is null and d.class = 'routing'`;
/** A letter that was closed is deleted after 40 days; whoever misses it then would ask a person once more. */
const keptSql = `d.as_of > (select clock_now()) - interval '39 days'`;

/** No record that was refused within that time has an earlier id; a day more for clocks that differ. */
const firstKeptId = `(lpad(to_hex((extract(epoch from (select clock_now()) - interval '40 days') * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid`;

interface EndRow {
  event_id: string;
  destination: string;
  state: DeliveryState;
  class: string | null;
  code: string | null;
  generation: number;
  deadline_at: Date;
  as_of: Date;
}

/**
 * Refused records stand among them by their own ids, and the end of their keeping for a deadline, as wherever they are named. They are kept for
 * longer than their letters have to be looked for: the older ones are passed over by their ids, which begin with their time. The time is asked
 * once: asked for each row it could not be where an index is entered.
 */
export const unresolvedSql = `
(select d.event_id, d.destination, d.state, d.class, d.code, d.generation, d.deadline_at, d.as_of, l.lead_ref, l.submitted_at
from delivery d join lead l using (event_id)
where ${ownSql} and ${keptSql} and (d.event_id, d.destination) > ($1::uuid, $2)
order by d.event_id, d.destination limit $3)
union all
(select j.rejected_id, '${refusedRecord}', 'dead', j.class, j.code, 1, j.delete_after, j.rejected_at, '${refusedRecord}:' || j.rejected_id, j.record_at
from rejected j
where j.accepted_as is null and j.sealed <> '' and j.rejected_at > (select clock_now()) - interval '39 days'
  and (j.rejected_id, '${refusedRecord}') > ($1::uuid, $2) and j.rejected_id >= greatest($1::uuid, ${firstKeptId})
order by j.rejected_id limit $3)
order by event_id, destination limit $3`;

/** One page of them, in the order of acceptance. A cursor that is none of ours begins anew. Throws DatabaseUnavailable. */
export async function unresolvedEnds(
  db: Sql,
  { after, limit }: Required<Pick<UnresolvedRequest, 'limit'>> & { after?: string },
): Promise<UnresolvedAnswer> {
  const rows = await db.sql<EndRow & { lead_ref: string; submitted_at: Date }>('intake.unresolved', unresolvedSql, [
    ...placeOf(after),
    limit,
  ]);
  const items = rows.map(({ as_of, submitted_at, ...row }): UnresolvedItem => {
    return { ...textsOf(row), since: as_of.toISOString(), submitted_at: submitted_at.toISOString() };
  });
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return { items, ...(last && { next: `${last.event_id} ${last.destination}` }) };
}

const cursor = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}) (.*)$/i;
const beginning = ['00000000-0000-0000-0000-000000000000', ''];

function placeOf(after = ''): string[] {
  const [, eventId, destination] = cursor.exec(after) ?? [];
  return eventId === undefined || destination === undefined ? beginning : [eventId, destination];
}

export interface OwnName {
  event_id: string;
  destination: string;
}

/** A lead that was routed after all counts as delivered; so does a refused record that became one. */
const statesSql = `
select i.event_id, i.destination, coalesce(s.state, o.state) as state, coalesce(d.class, j.class, o.class) as class,
  coalesce(d.code, j.code, o.code) as code, coalesce(o.generation, 1) as generation,
  coalesce(d.deadline_at, l.deadline_at, j.delete_after, o.deadline_at) as deadline_at, clock_now() as as_of
from unnest($1::uuid[], $2::text[]) with ordinality as i(event_id, destination, position)
${standingSql}
left join delivery o on o.event_id = i.event_id and o.destination = i.destination and s.state is null
order by i.position`;

/** What became of each that a letter of intake is about, in the order of the names; undefined: nothing of it is kept. Throws DatabaseUnavailable. */
export async function ownStates(db: Sql, names: readonly OwnName[]): Promise<(DeliveryStateItem | undefined)[]> {
  type Row = Omit<EndRow, 'state' | 'deadline_at'> & { state: DeliveryState | null; deadline_at: Date | null };
  const rows = await db.sql<Row>('intake.own_states', statesSql, valuesOf(names));
  return rows.map(({ event_id: _, as_of, state, deadline_at, ...row }) => {
    if (state === null || deadline_at === null) return undefined;
    const why = state === 'dead' ? { class: row.class, code: row.code } : { class: null, code: null };
    return { ...textsOf({ ...row, ...why, state, deadline_at }), as_of: as_of.toISOString(), complete: true, operations: [] };
  });
}

interface HistoryRow extends EndRow {
  submitted_at: Date;
  record_key: Buffer;
  event: Buffer;
  traceparent: string | null;
}

const historiesSql = `
select d.event_id, d.destination, d.state, d.class, d.code, d.generation, d.deadline_at, d.as_of, l.submitted_at, l.record_key, l.event, l.traceparent
from unnest($1::uuid[], $2::text[]) with ordinality as i(event_id, destination, position)
join delivery d on d.event_id = i.event_id and d.destination = i.destination join lead l on l.event_id = d.event_id
where ${ownSql} order by i.position`;

/** What is known of those that ended here: no call was ever made. `records`: with the event's record. Throws DatabaseUnavailable. */
export async function ownHistories(db: Sql, names: readonly OwnName[], records: boolean): Promise<HistoryItem[]> {
  const rows = await db.sql<HistoryRow>('intake.own_histories', historiesSql, valuesOf(names));
  return rows.map(({ as_of, submitted_at, record_key, event, traceparent, ...row }) => ({
    ...textsOf(row),
    submitted_at: submitted_at.toISOString(),
    updated_at: as_of.toISOString(),
    operations: [],
    attempts: [],
    ...(records && { record_key: record_key.toString('base64'), event: event.toString('base64'), traceparent: traceparent ?? undefined }),
  }));
}

const valuesOf = (names: readonly OwnName[]): unknown[] => [
  names.map(({ event_id }) => event_id),
  names.map(({ destination }) => destination),
];

function textsOf<T extends Pick<EndRow, 'class' | 'code' | 'deadline_at'>>({ class: failure, code, deadline_at, ...row }: T) {
  return { ...row, class: failure ?? undefined, code: code ?? undefined, deadline_at: deadline_at.toISOString() };
}
