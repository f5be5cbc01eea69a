import { type DeliveryState, operationKey, refusedRecord, unrouted } from '#contracts';
import type { LookedUp, ReplayFacts } from '#delivery';
import type { Sql } from '#runtime';
import { type ItemName, intakeKind, standingSql } from './item-states.js';

type Name = Omit<ItemName, 'item_id'>;

interface FactsRow extends Name {
  state: DeliveryState | null;
  class: string | null;
  code: string | null;
  lead_ref: string | null;
  deadline_at: Date | null;
  /** Of a refused record. */
  record_at: Date | null;
}

/** Of a refused record the end of its keeping stands for a deadline: it has none of its own. */
const factsSql = `
select i.event_id, i.destination, s.state, coalesce(d.class, j.class) as class, coalesce(d.code, j.code) as code, l.lead_ref, j.record_at,
  coalesce(d.deadline_at, l.deadline_at, j.delete_after) as deadline_at
from unnest($1::uuid[], $2::text[]) with ordinality as i(event_id, destination, position)
${standingSql}
order by i.position`;

/** Of each lead without a route, or refused record, in the order of the names; null for what is neither. Throws DatabaseUnavailable. */
export async function replayFacts(db: Sql, names: readonly Name[]): Promise<(ReplayFacts | null)[]> {
  return (await db.sql<FactsRow>('intake.replay_facts', factsSql, valuesOf(names))).map(toFacts);
}

function toFacts({ state, class: failure, code, lead_ref, deadline_at, record_at, ...name }: FactsRow): ReplayFacts | null {
  if (state === null || deadline_at === null) return null;
  const { event_id, destination } = name;
  const operation = { operation_key: operationKey(event_id, destination, intakeKind), kind: intakeKind };
  return {
    ...name,
    lead_ref: lead_ref ?? `${refusedRecord}:${event_id}`,
    state,
    class: failure ?? undefined,
    code: code ?? undefined,
    deadline_at: deadline_at.toISOString(),
    submitted_at: record_at?.toISOString(),
    generation: 1,
    operations: [{ ...operation, state: state === 'delivered' ? 'succeeded' : state === 'erased' ? 'erased' : 'dead' }],
    lookup: [],
  };
}

/** The lead that an item came to, if it is here with deliveries of its own. */
const lookUpSql = `
select i.event_id, i.destination, lead.event_id as ref
from unnest($1::uuid[], $2::text[]) with ordinality as i(event_id, destination, position)
left join rejected j on j.rejected_id = i.event_id and i.destination = '${refusedRecord}'
left join lead on lead.event_id = case i.destination when '${refusedRecord}' then j.accepted_as else i.event_id end
  and exists (select from delivery d where d.event_id = lead.event_id and (i.destination = '${refusedRecord}' or d.destination <> '${unrouted}'))
order by i.position`;

/** What is found of each, in the order of the names. Throws DatabaseUnavailable. */
export async function lookUpItems(db: Sql, names: readonly Name[]): Promise<LookedUp[]> {
  const rows = await db.sql<Name & { ref: string | null }>('intake.look_up_items', lookUpSql, valuesOf(names));
  return rows.map(({ event_id, destination, ref }) => {
    const operation = { operation_key: operationKey(event_id, destination, intakeKind), kind: intakeKind };
    return { event_id, destination, operations: [{ ...operation, ...(ref === null ? { result: 'absent' } : { result: 'found', ref }) }] };
  });
}

const valuesOf = (names: readonly Name[]): unknown[] => [
  names.map(({ event_id }) => event_id),
  names.map(({ destination }) => destination),
];
