import { describe, expect, it } from '@jest/globals';
import type { LeadAccepted } from '#contracts';
import type { Connector } from '#destinations';
import type { Codec, ConsumedRecord } from '#messaging';
import type { DestinationConfig } from '#runtime';
import { DestinationTarget, mayBeFor } from './destination-target.js';

const config = {
  name: 'crm',
  operations: ['contact', 'lead'],
  sandbox: false,
  requiresConsent: true,
  concurrency: 3,
  timeoutMs: 5_000,
} as DestinationConfig;
const connector = { capabilities: { nativeIdempotency: true } } as Connector;
const target = new DestinationTarget({ config, connector, codec: {} as Codec });
const event = {
  event_id: '019a0000-0000-7000-8000-000000000001',
  lead_ref: 'L-1',
  submitted_at: new Date(1_000),
  deadline_at: new Date(3_000),
  consent: true,
  test: false,
  destinations: ['crm', 'other'],
} as LeadAccepted;
const record = (destinations?: string) =>
  ({ headers: destinations === undefined ? {} : { 'ld-destinations': Buffer.from(destinations) } }) as unknown as ConsumedRecord;

describe('a destination as the engine sees it', () => {
  it('plans its operations in the declared order, under keys that never change', () => {
    expect(target.plan(event)).toEqual({
      eventId: event.event_id,
      destination: 'crm',
      leadRef: 'L-1',
      submittedAt: new Date(1_000),
      deadlineAt: new Date(3_000),
      operations: [
        { kind: 'contact', operationKey: `${event.event_id}:crm:contact` },
        { kind: 'lead', operationKey: `${event.event_id}:crm:lead` },
      ],
      needsVault: true,
      test: false,
    });
  });

  it('leaves leads of other destinations alone', () => {
    expect(target.plan({ ...event, destinations: ['other'] })).toBeUndefined();
  });

  it('refuses a test lead that is not for a sandbox, and a lead without the consent that it requires', () => {
    expect(() => target.plan({ ...event, test: true })).toThrow('no sandbox');
    expect(() => target.plan({ ...event, consent: false })).toThrow('without consent');
  });

  it('knows from the header alone which records cannot be its own', () => {
    expect(mayBeFor('crm', record('other,crm'))).toBe(true);
    expect(mayBeFor('crm', record('crm-2,other'))).toBe(false);
    expect(mayBeFor('crm', record())).toBe(true);
  });
});
