import { describe, expect, it } from '@jest/globals';
import { headers, type LeadResolved } from '#contracts';
import type { StoredDelivery } from '#delivery';
import { sweptNotification } from './swept-notification.js';

const at = new Date('2026-11-01T10:00:00Z');
const event: LeadResolved = {
  resolution_id: '0198c0de-0000-5000-8000-000000000001',
  event_type: 'lead.resolved',
  version: 1,
  event_id: '0198c0de-0000-7000-8000-000000000001',
  lead_ref: 'L-ABCDEFGHIJKLMNOP',
  organization: 'demo',
  source: 'website',
  form: 'contact',
  campaign: null,
  destination: 'sandbox-crm',
  primary: true,
  generation: 1,
  outcome: 'delivered',
  error_class: null,
  error_code: null,
  operations: [],
  submitted_at: at,
  accepted_at: at,
  resolved_at: at,
  test: false,
};
const name = 'lead/duty/r1/lead_delivered';
const operationKey = 'key';
const stored: StoredDelivery = {
  eventId: event.event_id,
  destination: name,
  state: 'expired',
  generation: 1,
  leadRef: event.lead_ref,
  submittedAt: at,
  deadlineAt: at,
  firstSeenAt: at,
  changedAt: at,
  test: false,
  recordKey: Buffer.from('record key'),
  event: Buffer.from('event bytes'),
  operations: [{ kind: 'message', operationKey, state: 'expired', attempts: 2, attemptsBefore: 0, absences: 0 }],
  resolvedAt: at,
};

/** Of a notification whose row a sweeper, verifier or person ended. */
const lettersOf = (owner: string | undefined) =>
  sweptNotification(name, {
    site: {
      routing: [{ match: { source: 'website' }, destinations: ['sandbox-crm'], owner, policy: 'default' }],
      owners: { ada: { id: 'ada', name: 'Sales duty' } },
    },
    channels: new Map([['duty', { recipientKey: 'r1', sandbox: false }]]),
    codec: { decode: () => event as never },
    leaseMs: 30_000,
    wakeTopic: 'wake',
    dlqTopic: 'dlq',
  })?.resolved(stored);

describe('a notification that ended without its engine', () => {
  it('leaves the dead letter of a lead that belongs to nobody', async () => {
    for (const owner of [undefined, 'left']) {
      expect(await lettersOf(owner)).toEqual([
        {
          topic: 'dlq',
          key: stored.recordKey,
          value: stored.event,
          headers: expect.objectContaining({
            [headers.eventId]: event.event_id,
            [headers.destinations]: name,
            [headers.operationKey]: operationKey,
            [headers.attempts]: '2',
            [headers.errorClass]: 'unknown_owner',
            [headers.errorCode]: 'no_owner',
          }),
        },
      ]);
    }
  });

  it('leaves none of a lead whose owner is known', async () => {
    expect(await lettersOf('ada')).toEqual([]);
  });
});
