import { describe, expect, it } from '@jest/globals';
import type { LeadAccepted } from '#contracts';
import type { Connector } from '#destinations';
import type { Codec, ConsumedRecord } from '#messaging';
import type { DestinationConfig, Site } from '#runtime';
import { DestinationTarget, mayBeFor } from './destination-target.js';

const config = {
  name: 'crm',
  operations: ['contact', 'lead'],
  sandbox: false,
  requiresConsent: true,
  concurrency: 3,
  timeoutMs: 5_000,
  lookupTimeoutMs: 1_000,
} as DestinationConfig;
const connector = { capabilities: { nativeIdempotency: true, lookup: ['lead'] } } as unknown as Connector;
const policies = { default: { attempts: 4 }, strict: { attempts: 2 } } as unknown as Site['policies'];
const target = new DestinationTarget({ config, policies, connector, codec: {} as Codec });
const event = {
  event_id: '019a0000-0000-7000-8000-000000000001',
  lead_ref: 'L-1',
  submitted_at: new Date(1_000),
  deadline_at: new Date(3_000),
  consent: true,
  policy: 'strict',
  test: false,
  destinations: ['crm', 'other'],
} as LeadAccepted;
const record = (destinations?: string) =>
  ({
    key: Buffer.from('person'),
    headers: destinations === undefined ? {} : { 'ld-destinations': Buffer.from(destinations) },
  }) as unknown as ConsumedRecord;

describe('a destination as the engine sees it', () => {
  it('reads who has written records, and nothing of what is in them', async () => {
    const record = { kind: 'contact', ref: 'C-1', version: '7', changedAt: 'now', changedBy: 'us' as const, fields: { phone: '1' } };
    const of = (readMany: Connector['readMany']) =>
      new DestinationTarget({ config, policies, connector: { ...connector, readMany } as Connector, codec: {} as Codec });
    const read = (readMany: Connector['readMany']) => of(readMany).read?.({ kind: 'contact', refs: ['C-1'], timeoutMs: 1 });
    expect(await read(async () => ({ ok: true, records: [record] }))).toEqual({
      ok: true,
      records: [{ ref: 'C-1', version: '7', changedAt: 'now', changedBy: 'us' }],
    });
    expect(await read(async () => ({ ok: false, class: 'auth', code: '401', retryAfterMs: 9 }))).toEqual({
      ok: false,
      class: 'auth',
      code: '401',
    });
    expect(of(undefined).read).toBeUndefined();
  });

  it.each<[string, object | undefined, string]>([
    ['is as it was compared', { version: '7', changedBy: 'us' }, 'same'],
    ['has another version', { version: '8', changedBy: 'us' }, 'changed'],
    ['was written by somebody else', { version: '7', changedBy: 'other' }, 'changed'],
    ['is not there any more', { ref: 'C-2' }, 'changed'],
    ['cannot be read', undefined, 'unread'],
  ])('says of a record that a repair changes whether it %s', async (_, now, since) => {
    const asked: unknown[] = [];
    const readMany: Connector['readMany'] = async (query) => {
      asked.push(query);
      if (now === undefined) return { ok: false, class: 'transient' };
      return { ok: true, records: [{ kind: 'contact', ref: 'C-1', fields: {}, ...now }] };
    };
    const one = new DestinationTarget({ config, policies, connector: { ...connector, readMany } as Connector, codec: {} as Codec });
    expect(await one.sinceCompared({ kind: 'contact', ref: 'C-1', compared: { version: '7' } }, 50)).toBe(since);
    expect(asked).toEqual([{ kind: 'contact', refs: ['C-1'], timeoutMs: 50 }]);
  });

  it('plans its operations in the declared order, under keys that never change', () => {
    expect(target.plan(event, record())).toEqual({
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
      needsConsent: true,
      test: false,
      attempts: 2,
      contact: { kind: 'contact', personKey: 'person' },
    });
  });

  it('leaves leads of other destinations alone', () => {
    expect(target.plan({ ...event, destinations: ['other'] }, record())).toBeUndefined();
  });

  it('plans a test lead that is not for a sandbox, and a lead without the consent that it requires, as refused', () => {
    const planned = target.plan(event, record());
    for (const [own, code] of [[{ test: true }, 'no_sandbox'] as const, [{ consent: false }, 'no_consent'] as const]) {
      expect(target.plan({ ...event, ...own }, record())).toMatchObject({
        eventId: event.event_id,
        operations: planned?.operations,
        refused: { class: 'invalid', code },
      });
    }
  });

  it('takes a policy that is not configured any more for the default', () => {
    expect(target.plan({ ...event, policy: 'gone' }, record())?.attempts).toBe(4);
  });

  it('looks up the kinds that its connector can find', () => {
    expect(['contact', 'lead'].filter((kind) => target.canLookUp(kind))).toEqual(['lead']);
  });

  it('knows from the header alone which records cannot be its own', () => {
    expect(mayBeFor('crm', record('other,crm'))).toBe(true);
    expect(mayBeFor('crm', record('crm-2,other'))).toBe(false);
    expect(mayBeFor('crm', record())).toBe(true);
  });
});
