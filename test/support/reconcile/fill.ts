import { LeadAcceptedEvent, operationKey } from '#contracts';
import { type Column, columnValues, type Database, newEventId, unnestColumns } from '#runtime';
import { codec, type MadeLead } from './leads.js';

/** Rows in one statement. */
const perStatement = 2_000;
/** How long ago everything was delivered, so that no search lag hides it. */
export const deliveredAgo = `interval '1 hour'`;

interface DeliveryRow {
  lead: MadeLead;
  event: Buffer;
}

const deliveryColumns: readonly Column<DeliveryRow>[] = [
  ['event_id', 'uuid', ({ lead }) => lead.event.event_id],
  ['submitted_at', 'timestamptz', ({ lead }) => lead.event.submitted_at],
  ['lead_ref', 'text', ({ lead }) => lead.event.lead_ref],
  ['record_key', 'bytea', ({ lead }) => Buffer.from(lead.payload.person_key)],
  ['event', 'bytea', ({ event }) => event],
];
const deliverySql = `
INSERT INTO delivery (event_id, destination, state, submitted_at, deadline_at, claimed_at, updated_at, test, lead_ref, operation_keys, record_key, event)
SELECT event_id, 'crm', 'delivered', submitted_at, submitted_at + interval '4 hours', submitted_at, clock_now() - ${deliveredAgo}, false, lead_ref,
  ARRAY[event_id || ':crm:contact', event_id || ':crm:lead'], record_key, event FROM ${unnestColumns('i', deliveryColumns)}`;

interface OperationRow {
  eventId: string;
  kind: string;
  ref: string;
}

const operationColumns: readonly Column<OperationRow>[] = [
  ['operation_key', 'text', ({ eventId, kind }) => operationKey(eventId, 'crm', kind)],
  ['event_id', 'uuid', ({ eventId }) => eventId],
  ['kind', 'text', ({ kind }) => kind],
  ['ref', 'text', ({ ref }) => ref],
  ['attempt_id', 'uuid', () => newEventId()],
];
const operationSql = `
INSERT INTO operation (operation_key, event_id, destination, kind, state, attempts, destination_ref, updated_at)
SELECT operation_key, event_id, 'crm', kind, 'succeeded', 1, ref, clock_now() - ${deliveredAgo} FROM ${unnestColumns('i', operationColumns)}`;
const attemptSql = `
INSERT INTO attempt (operation_key, attempt_id, late, number, started_at, outcome, destination_ref)
SELECT operation_key, attempt_id, false, 1, clock_now() - ${deliveredAgo}, 'succeeded', ref FROM ${unnestColumns('i', operationColumns)}`;

interface PersonRow {
  lead: MadeLead;
  fields: string;
}

const personColumns: readonly Column<PersonRow>[] = [
  ['person_key', 'text', ({ lead }) => lead.payload.person_key],
  ['contact_ref', 'text', ({ lead }) => lead.contactRef],
  ['fields', 'jsonb', ({ fields }) => fields],
];
const personSql = `
INSERT INTO contact_state AS c (person_key, destination, contact_ref, fields, updated_at, written_at)
SELECT person_key, 'crm', contact_ref, fields, clock_now() - ${deliveredAgo}, clock_now() - ${deliveredAgo} FROM ${unnestColumns('i', personColumns)}
ON CONFLICT (person_key, destination) DO UPDATE SET fields = excluded.fields`;

/** Writes these leads into crm-writer's tables as if they had been delivered an hour ago. */
export async function fillDeliveries(
  db: Database,
  leads: readonly MadeLead[],
  contactFields: (lead: MadeLead) => readonly string[],
): Promise<void> {
  for (let at = 0; at < leads.length; at += perStatement) {
    const some = leads.slice(at, at + perStatement);
    const rows = some.map((lead) => ({ lead, event: codec.encode(LeadAcceptedEvent, lead.event) }));
    const operations = some.flatMap(({ event: { event_id: eventId }, contactRef, leadRef }) => [
      { eventId, kind: 'contact', ref: contactRef },
      { eventId, kind: 'lead', ref: leadRef },
    ]);
    await db.sql('fill.delivery', deliverySql, columnValues(deliveryColumns, rows));
    const values = columnValues(operationColumns, operations);
    await db.sql('fill.operation', operationSql, values.slice(0, 5));
    await db.sql('fill.attempt', attemptSql, values);
    const newest = new Map(some.map((lead) => [lead.payload.person_key, lead]));
    const persons = [...newest.values()].map((lead) => ({ lead, fields: JSON.stringify(fieldsOf(lead, contactFields(lead))) }));
    await db.sql('fill.person', personSql, columnValues(personColumns, persons));
  }
}

function fieldsOf({ event }: MadeLead, names: readonly string[]): Record<string, string> {
  const rank = `${String(event.submitted_at.getTime()).padStart(15, '0')}:${event.event_id}`;
  return Object.fromEntries(names.map((name) => [name, rank]));
}
