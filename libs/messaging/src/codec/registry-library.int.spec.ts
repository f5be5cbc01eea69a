import { expect, it } from '@jest/globals';
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import { type LeadResolved, LeadResolvedEvent } from '#contracts';
import { testInfra, uniqueName } from '#testkit';
import { createCodec } from './codec.js';

/** The registry client that most Node services use is the stranger here: it must read what we write, and we what it writes. */
const registryUrl = testInfra().schemaRegistry;
const library = new SchemaRegistry({ host: registryUrl });
const event: LeadResolved = {
  resolution_id: '0198c0de-0000-5000-8000-000000000001',
  event_type: 'lead.resolved',
  version: 1,
  event_id: '0198c0de-0000-7000-8000-000000000001',
  lead_ref: 'L-ABCDEFGHIJKLMNOP',
  organization: 'demo',
  source: 'website',
  form: null,
  campaign: 'autumn',
  destination: 'sandbox-crm',
  primary: true,
  generation: 1,
  outcome: 'delivered',
  error_class: null,
  error_code: null,
  operations: [{ operation_key: 'k', kind: 'lead', state: 'succeeded', ref: 'l1', attempts: 1 }],
  submitted_at: new Date('2026-11-01T10:00:00.123Z'),
  accepted_at: new Date('2026-11-01T10:00:01Z'),
  resolved_at: new Date('2026-11-01T10:00:02Z'),
  test: false,
};
const { submitted_at, accepted_at, resolved_at } = event;
const plain = { ...event, submitted_at: submitted_at.getTime(), accepted_at: accepted_at.getTime(), resolved_at: resolved_at.getTime() };

it('exchanges events with the registry library of kafkajs in both directions', async () => {
  const subject = `${uniqueName('library')}-value`;
  const { id } = await library.register({ type: SchemaType.AVRO, schema: LeadResolvedEvent.schema }, { subject });

  const readByUs = await createCodec({ known: [], registryUrl }).decode(LeadResolvedEvent, await library.encode(id, plain));
  expect(readByUs).toEqual(event);

  const { subject: own, schemaVersion: version, schema } = LeadResolvedEvent;
  const writtenByUs = createCodec({ known: [{ subject: own, version, id, schema }] }).encode(LeadResolvedEvent, event);
  expect({ ...(await library.decode(writtenByUs)) }).toMatchObject(plain);
});
