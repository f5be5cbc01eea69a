import { type DeliveryState, refusedRecord, unrouted } from '#contracts';
import type { ReplayItemState } from '#delivery';
import type { Sql } from '#runtime';

export interface ItemName {
  item_id: string;
  event_id: string;
  destination: string;
}

/**
 * What a lead without a route, or a refused record, is now; null for anything else. A routed lead has deliveries of its own in place of the one that
 * went nowhere. Needs `i(event_id, destination)`.
 */
export const standingSql = `
left join delivery d on d.event_id = i.event_id and d.destination = i.destination and i.destination = '${unrouted}' and d.claimed_at is null
left join rejected j on j.rejected_id = i.event_id and i.destination = '${refusedRecord}'
left join lead l on l.event_id = i.event_id and i.destination = '${unrouted}'
cross join lateral (select case
  when j.accepted_as is not null then 'delivered'
  when j.rejected_id is not null then case when j.sealed = '' then 'erased' else 'dead' end
  when d.event_id is not null then d.state
  when l.event_id is not null and exists (select from delivery o where o.event_id = i.event_id) then 'delivered'
end as state) s`;

const stateSql = `
select i.item_id, coalesce(r.outcome <> 'closed', false) as applied, coalesce(r.outcome = 'closed', false) as closed,
  case r.outcome when 'done' then 'delivered' when 'failed' then case s.state when 'erased' then 'erased' else 'dead' end else s.state end as state,
  coalesce(r.class, d.class, j.class) as class, coalesce(r.code, d.code, j.code) as code, r.ref
from unnest($1::uuid[], $2::uuid[], $3::text[]) with ordinality as i(item_id, event_id, destination, position)
left join replay_item r on r.item_id = i.item_id
${standingSql}
order by i.position`;

const closeSql = `
insert into replay_item (item_id, event_id, destination, outcome)
select item_id, event_id, destination, 'closed' from unnest($1::uuid[], $2::uuid[], $3::text[]) as i(item_id, event_id, destination) order by item_id
on conflict (item_id) do nothing`;

interface StateRow {
  item_id: string;
  applied: boolean;
  closed: boolean;
  state: DeliveryState | null;
  class: string | null;
  code: string | null;
  ref: string | null;
}

const valuesOf = (items: readonly ItemName[]): unknown[] => [
  items.map(({ item_id }) => item_id),
  items.map(({ event_id }) => event_id),
  items.map(({ destination }) => destination),
];

/** What became of each item, in their order. Throws DatabaseUnavailable. */
export async function itemStates(db: Sql, items: readonly ItemName[]): Promise<ReplayItemState[]> {
  return (await db.sql<StateRow>('intake.item_states', stateSql, valuesOf(items))).map(toState);
}

/** The same; none of them is applied from then on. Throws DatabaseUnavailable. */
export async function closeItems(db: Sql, items: readonly ItemName[]): Promise<ReplayItemState[]> {
  await db.sql('intake.close_items', closeSql, valuesOf(items));
  return itemStates(db, items);
}

function toState({ state, class: failure, code, ref, ...row }: StateRow): ReplayItemState {
  return {
    ...row,
    state: state ?? undefined,
    class: (state === 'delivered' ? null : failure) ?? undefined,
    code: code ?? undefined,
    raised: false,
    refs: ref === null ? {} : { [intakeKind]: ref },
  };
}

/** The one operation of intake: to decide. */
export const intakeKind = 'intake';
