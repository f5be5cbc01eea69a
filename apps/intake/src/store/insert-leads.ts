import { topics } from '#contracts';
import type { OutboxRow } from '#messaging';
import { type Column, columnValues, type Sql, unnestColumns } from '#runtime';
import { addSql, dayOfSql, slotSql } from '../received/count-received.js';
import type { NewDelivery, NewLead } from './new-lead.js';

/** A row that belongs to a lead of the batch, by the lead's place in it (from 1). */
export type OfLead<Part> = Part & { lead: number };

export const leadColumns: readonly Column<NewLead>[] = [
  ['event_id', 'uuid', (lead) => lead.eventId],
  ['lead_ref', 'text', (lead) => lead.leadRef],
  ['organization', 'text', (lead) => lead.organization],
  ['source', 'text', (lead) => lead.source],
  ['external_ref', 'text', (lead) => lead.externalRef],
  ['fingerprint', 'text', (lead) => lead.fingerprint],
  ['form', 'text', (lead) => lead.form],
  ['campaign', 'text', (lead) => lead.campaign],
  ['supersedes_ref', 'text', (lead) => lead.supersedesRef],
  ['submitted_at', 'timestamptz', (lead) => lead.submittedAt],
  ['accepted_at', 'timestamptz', (lead) => lead.acceptedAt],
  ['deadline_at', 'timestamptz', (lead) => lead.deadlineAt],
  ['policy', 'text', (lead) => lead.policy],
  ['owner', 'text', (lead) => lead.owner],
  ['test', 'bool', (lead) => lead.test],
  ['record_key', 'bytea', (lead) => lead.recordKey],
  ['email_key', 'int8', (lead) => lead.emailKey],
  ['phone_key', 'int8', (lead) => lead.phoneKey],
  ['event', 'bytea', (lead) => lead.event],
  ['traceparent', 'text', (lead) => lead.trace.traceparent],
  ['tracestate', 'text', (lead) => lead.trace.tracestate],
  ['key_id', 'text', (lead) => lead.sealed.keyId],
  ['wrapped_key', 'bytea', (lead) => lead.sealed.wrappedKey],
  ['sealed', 'bytea', (lead) => lead.sealed.sealed],
  ['headers', 'json', (lead) => JSON.stringify(lead.headers)],
];

export const deliveryColumns: readonly Column<OfLead<NewDelivery>>[] = [
  ['lead', 'int4', (delivery) => delivery.lead],
  ['destination', 'text', (delivery) => delivery.destination],
  ['state', 'text', (delivery) => delivery.state],
  ['class', 'text', (delivery) => delivery.class],
  ['code', 'text', (delivery) => delivery.code],
];

export const outboxColumns: readonly Column<OfLead<OutboxRow>>[] = [
  ['lead', 'int4', (row) => row.lead],
  ['topic', 'text', (row) => row.topic],
  ['key', 'bytea', (row) => row.key],
  ['value', 'bytea', (row) => row.value],
  ['headers', 'json', (row) => JSON.stringify(row.headers)],
];

/** How long personal data is kept. */
const vaultRetention = '400 days';
/** How long a delivery may stay unclaimed before it is announced again. */
export const reannounceAfter = '5 minutes';

const firstDelivery = leadColumns.length + 1;
const firstOutbox = firstDelivery + deliveryColumns.length;

/**
 * The key decides: a lead whose key exists is left out of every other insert. The conflict target is named, so that any other broken rule is an
 * error. A key that another transaction is just inserting is waited for. Sorted by key, so that two batches never wait for each other.
 */
export const insertLeadsSql = `
with input as materialized (
  select * from ${unnestColumns('input', leadColumns)}
), keyed as (
  insert into intake_key (organization, source, external_ref, event_id, lead_ref, fingerprint, accepted_at)
  select organization, source, external_ref, event_id, lead_ref, fingerprint, accepted_at
  from input order by organization, source, external_ref, position
  on conflict (organization, source, external_ref) do nothing
  returning event_id
), fresh as materialized (
  select input.* from input where event_id in (select event_id from keyed)
), saved as (
  insert into lead (event_id, lead_ref, organization, source, form, campaign, supersedes_ref, submitted_at, accepted_at, deadline_at,
    policy, owner, test, record_key, email_key, phone_key, event, traceparent, tracestate)
  select event_id, lead_ref, organization, source, form, campaign, supersedes_ref, submitted_at, accepted_at, deadline_at,
    policy, owner, test, record_key, email_key, phone_key, event, traceparent, tracestate
  from fresh
), vaulted as (
  insert into vault (lead_ref, revision, key_id, wrapped_key, sealed, email_key, phone_key, delete_after)
  select lead_ref, 1, key_id, wrapped_key, sealed, email_key, phone_key, accepted_at + interval '${vaultRetention}' from fresh
), delivered as (
  insert into delivery (event_id, destination, state, class, code, owner, deadline_at, submitted_at, as_of, announced_at, announce_at)
  select event_id, destination, state, class, code, owner, deadline_at, submitted_at, accepted_at, accepted_at, accepted_at + interval '${reannounceAfter}'
  from ${unnestColumns('planned', deliveryColumns, firstDelivery)} join fresh on fresh.position = planned.lead
), announced as (
  insert into outbox (topic, key, value, headers)
  select topic, key, value, headers from (
    select '${topics.leadAccepted}' as topic, record_key as key, event as value, headers, position, 0 as part from fresh
    union all
    select row.topic, row.key, row.value, row.headers, fresh.position, row.position
    from ${unnestColumns('row', outboxColumns, firstOutbox)} join fresh on fresh.position = row.lead
  ) as record order by position, part
), counted as (
  insert into received as tally (day, organization, source, slot, received, accepted)
  select ${dayOfSql('accepted_at')}, organization, source, ${slotSql}, count(*), count(*) from fresh group by 1, 2, 3 order by 1, 2, 3
  ${addSql}
)
select clock_now() as now, (select array_agg(event_id::text) from input where event_id not in (select event_id from keyed)) as repeated`;

/**
 * Saves leads whose key is new, all or none of the batch, and announces them. Gives the event ids of those whose key existed, and PostgreSQL's
 * time.
 */
export async function insertLeads(db: Sql, leads: readonly NewLead[]): Promise<{ repeated: Set<string>; now?: Date }> {
  const values = [
    ...columnValues(leadColumns, leads),
    ...columnValues(deliveryColumns, deliveriesOf(leads)),
    ...columnValues(outboxColumns, outboxOf(leads)),
  ];
  const [row] = await db.sql<{ repeated: string[] | null; now: Date }>('intake.insert_leads', insertLeadsSql, values);
  return { repeated: new Set(row?.repeated), now: row?.now };
}

/** The deliveries of a batch, each with the place of its lead. */
export function deliveriesOf(leads: readonly NewLead[]): OfLead<NewDelivery>[] {
  return leads.flatMap(({ deliveries }, index) => deliveries.map((delivery) => ({ ...delivery, lead: index + 1 })));
}

/** The records beside lead.accepted of a batch, each with the place of its lead. */
export function outboxOf(leads: readonly NewLead[]): OfLead<OutboxRow>[] {
  return leads.flatMap(({ outbox }, index) => outbox.map((row) => ({ ...row, lead: index + 1 })));
}
