import { describe, expect, it } from '@jest/globals';
import { type LeadAccepted, LeadAcceptedEvent, type LeadResolved, LeadResolvedEvent } from '#contracts';
import type { ResolvedDelivery, StoredDelivery } from '#delivery';
import { createCodec } from '#messaging';
import { resolutionRow, storedResolutionRow, toLeadResolved } from './resolution.js';

const event: LeadAccepted = {
  event_id: '019a0000-0000-7000-8000-000000000001',
  event_type: 'lead.accepted',
  version: 1,
  lead_ref: 'L-1',
  organization: 'demo',
  source: 'website',
  source_event_ref: 'ref',
  form: 'contact',
  campaign: null,
  submitted_at: new Date(1_000),
  accepted_at: new Date(2_000),
  deadline_at: new Date(3_000),
  policy: 'default',
  payload_hmac: 'v1:00',
  consent: true,
  test: true,
  destinations: ['crm'],
};
const delivery = (more: Partial<ResolvedDelivery<LeadAccepted>> = {}): ResolvedDelivery<LeadAccepted> => ({
  event,
  plan: {
    eventId: event.event_id,
    destination: 'crm',
    leadRef: 'L-1',
    submittedAt: event.submitted_at,
    deadlineAt: event.deadline_at,
    operations: [],
    needsVault: true,
    test: true,
    attempts: 4,
  },
  generation: 1,
  state: 'delivered',
  operations: [
    { kind: 'contact', operationKey: 'k1', state: 'succeeded', ref: 'c-1', attempts: 1 },
    { kind: 'lead', operationKey: 'k2', state: 'succeeded', attempts: 2 },
  ],
  resolvedAt: new Date(5_000),
  trace: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', traceId: '', spanId: '', sampled: true },
  record: {
    topic: 'lead.accepted',
    partition: 0,
    offset: 7n,
    key: Buffer.from('person'),
    value: null,
    headers: {},
    timestampMs: 0,
  },
  ...more,
});

const resolved = (more?: Partial<ResolvedDelivery<LeadAccepted>>) => ({ ...delivery(more), destination: 'crm' });

describe('the announcement of an outcome', () => {
  it('says what became of each operation, with references alone', () => {
    expect(toLeadResolved(resolved(), true)).toEqual({
      resolution_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      event_type: 'lead.resolved',
      version: 1,
      event_id: event.event_id,
      lead_ref: 'L-1',
      organization: 'demo',
      source: 'website',
      form: 'contact',
      campaign: null,
      destination: 'crm',
      primary: true,
      generation: 1,
      outcome: 'delivered',
      error_class: null,
      error_code: null,
      operations: [
        { operation_key: 'k1', kind: 'contact', state: 'succeeded', ref: 'c-1', attempts: 1 },
        { operation_key: 'k2', kind: 'lead', state: 'succeeded', ref: null, attempts: 2 },
      ],
      submitted_at: event.submitted_at,
      accepted_at: event.accepted_at,
      resolved_at: new Date(5_000),
      test: true,
    });
  });

  it('has the same id for the same outcome, another for another', () => {
    const id = (more?: Partial<ResolvedDelivery<LeadAccepted>>) => toLeadResolved(resolved(more), true).resolution_id;
    expect(id()).toBe(id({ resolvedAt: new Date(9_000) }));
    expect(id({ state: 'expired', class: 'deadline_exceeded', code: 'deadline' })).not.toBe(id());
  });

  it('counts the approved repairs of a delivery, and a repair that ends alike is another announcement', () => {
    const repaired = toLeadResolved(resolved({ generation: 2 }), true);
    expect(repaired.generation).toBe(2);
    expect(repaired.resolution_id).not.toBe(toLeadResolved(resolved(), true).resolution_id);
  });

  it('is the same where the delivery is known by its row alone', async () => {
    const codec = createCodec({
      known: [LeadAcceptedEvent, LeadResolvedEvent].map(({ subject, schemaVersion: version, schema }, id) => ({
        subject,
        version,
        schema,
        id,
      })),
    });
    const { operations, state, generation, resolvedAt, record, trace } = delivery();
    const stored = {
      destination: 'crm',
      ...{ operations, state, generation, resolvedAt },
      recordKey: record.key,
      event: codec.encode(LeadAcceptedEvent, event),
      traceparent: trace.traceparent,
    };
    const row = await storedResolutionRow(stored as StoredDelivery, { codec, primary: true });
    expect(row).toEqual(resolutionRow(delivery(), { codec, primary: true }));
  });

  it('travels under the key of the record that brought the lead, in the trace of its processing', async () => {
    const { subject, schemaVersion: version, schema } = LeadResolvedEvent;
    const codec = createCodec({ known: [{ subject, version, schema, id: 1 }] });
    const row = resolutionRow(delivery(), { codec, primary: false });
    expect(row).toMatchObject({
      topic: 'lead.resolved',
      key: Buffer.from('person'),
      headers: { 'ld-event-id': event.event_id, 'ld-destinations': 'crm', traceparent: delivery().trace.traceparent },
    });
    const decoded: LeadResolved = await codec.decode(LeadResolvedEvent, row.value);
    expect(decoded).toEqual(toLeadResolved(resolved(), false));
  });
});
