import { type LeadAccepted, LeadAcceptedEvent, topics, unrouted } from '#contracts';
import { deadLetterRow } from '#delivery';
import { type Codec, insertOutbox } from '#messaging';
import type { Site, Sql, TraceContext } from '#runtime';
import { type DeliveryPlan, planDeliveries } from '../plan-deliveries.js';
import { announcementHeaders } from '../prepare-lead.js';
import { reannounceAfter } from '../store/insert-leads.js';
import { type ApprovedItem, type Decision, noteItem, roundsOf } from './item.js';

export interface RouteTools {
  codec: Pick<Codec, 'encode' | 'decode'>;
  site: Site;
}

interface DeadRow {
  event: Buffer;
  record_key: Buffer;
  withdrawn: boolean;
}

/** The lead first, as whoever erases it does. */
const lockSql = `
select l.event, l.record_key,
  coalesce((select bool_or(v.consent_withdrawn_at is not null) from vault v where v.lead_ref = l.lead_ref), false) as withdrawn
from lead l join delivery d on d.event_id = l.event_id
where l.event_id = $1 and d.destination = '${unrouted}' and d.state = 'dead' and d.class = 'routing' and d.claimed_at is null
for update of l, d`;

/** The delivery that went nowhere gives way to those that go somewhere. */
const routeSql = `
with nowhere as (
  delete from delivery where event_id = $1 and destination = '${unrouted}'
), planned as (
  insert into delivery (event_id, destination, state, owner, deadline_at, submitted_at, as_of, announced_at, announce_at)
  select $1, destination, 'accepted', $3, $4, (select submitted_at from lead where event_id = $1), clock_now(), clock_now(), clock_now() + interval '${reannounceAfter}'
  from unnest($2::text[]) as destination
)
update lead set event = $5, deadline_at = $4, policy = $6, owner = $3 where event_id = $1`;

const stayDeadSql = `
update delivery set code = $2, deadline_at = $3, as_of = clock_now() where event_id = $1 and destination = '${unrouted}'`;

/**
 * Routes a lead without a route once more, by the rules of now and with the consent of now, under its own event id. Still none: dead again, with a
 * new dead letter. Undefined where it is not without a route any more. Runs in the caller's transaction; throws ItemKnown.
 */
export async function routeAgain(
  tx: Sql,
  tools: RouteTools,
  { item, trace }: { item: ApprovedItem; trace: TraceContext },
): Promise<Decision | undefined> {
  const [row] = await tx.sql<DeadRow>('intake.lock_unrouted', lockSql, [item.eventId]);
  if (row === undefined) return undefined;
  const event = await tools.codec.decode(LeadAcceptedEvent, row.event);
  const consent = event.consent && !row.withdrawn;
  const plan = planDeliveries(tools.site, {
    organization: event.organization,
    source: event.source,
    formSlug: event.form ?? undefined,
    campaignSlug: event.campaign ?? undefined,
    test: event.test,
    consent: { given: consent },
  });
  const known = { ...row, event: { ...event, consent } };
  return plan.unrouted === undefined
    ? route(tx, tools, { item, plan, trace, ...known })
    : stayDead(tx, { item, code: plan.unrouted, row, event, trace });
}

interface Routed {
  item: ApprovedItem;
  plan: DeliveryPlan;
  trace: TraceContext;
  event: LeadAccepted;
  record_key: Buffer;
}

async function route(tx: Sql, { codec }: RouteTools, { item, plan, trace, event, record_key }: Routed): Promise<Decision> {
  const { eventId, deadlineAt } = item;
  const routed = { ...event, deadline_at: deadlineAt, policy: plan.policy.name, destinations: plan.destinations };
  const value = codec.encode(LeadAcceptedEvent, routed);
  const decision: Decision = { outcome: 'done', ref: eventId, code: 'routed' };
  await noteItem(tx, item, decision);
  await tx.sql('intake.route_again', routeSql, [eventId, plan.destinations, plan.owner ?? null, deadlineAt, value, plan.policy.name]);
  await insertOutbox(tx, [{ topic: topics.leadAccepted, key: record_key, value, headers: announcementHeaders(routed, trace) }]);
  return decision;
}

interface StillDead {
  item: ApprovedItem;
  code: string;
  row: DeadRow;
  event: LeadAccepted;
  trace: TraceContext;
}

/** That it is dead was announced when it came; whoever was told then is not told the same again. */
async function stayDead(tx: Sql, { item, code, row, event, trace }: StillDead): Promise<Decision> {
  const { eventId, deadlineAt } = item;
  const decision: Decision = { outcome: 'failed', class: 'routing', code };
  await noteItem(tx, item, decision);
  await tx.sql('intake.stay_unrouted', stayDeadSql, [eventId, code, deadlineAt]);
  const letter = deadLetterRow({
    topic: topics.intakeDlq,
    key: row.record_key,
    value: row.event,
    eventId,
    destination: unrouted,
    attempts: await roundsOf(tx, item),
    firstSeenAtMs: event.accepted_at.getTime(),
    deadlineAtMs: deadlineAt.getTime(),
    class: 'routing',
    code,
    ref: `lead:${event.lead_ref}`,
    traceparent: trace.traceparent,
    tracestate: trace.tracestate,
  });
  await insertOutbox(tx, [letter]);
  return decision;
}
