import { describe, expect, it } from '@jest/globals';
import type { ReplayFacts } from '#delivery';
import { type Around, type ItemFacts, judge } from './verdict.js';

const now = new Date('2026-11-02T10:00:00Z');
const deadline = '2026-11-02T09:00:00.000Z';
const hour = 3_600_000;
const item = (more: Partial<ItemFacts> = {}): ItemFacts => ({
  submittedAt: new Date(now.getTime() - 5 * hour),
  deadlineAt: new Date(deadline),
  hasRecord: true,
  maxAgeMs: 7 * 24 * hour,
  frozen: { generation: 1, requestHash: 'lead=v1:a', mappingVersion: 1 },
  ...more,
});
const operation = { operation_key: 'k', kind: 'lead', state: 'dead', request_hash: 'v1:a', mapping_version: 1 } as const;
const facts = (more: Partial<ReplayFacts> = {}): ReplayFacts => ({
  event_id: 'e',
  destination: 'crm',
  lead_ref: 'ref',
  state: 'dead',
  deadline_at: deadline,
  generation: 1,
  operations: [operation],
  mapping_version: 1,
  lookup: ['lead'],
  ...more,
});
const around = (more: Partial<Around> = {}): Around => ({
  now,
  held: false,
  nativeIdempotency: true,
  keyRetentionMs: 24 * hour,
  requiresConsent: true,
  payload: 'kept',
  ...more,
});
const forgotten = facts({ operations: [{ ...operation, doubtful_since: '2026-10-31T10:00:00.000Z' }] });

describe('the dry run of an item', () => {
  it.each<[string, string, ItemFacts, ReplayFacts | undefined, Around]>([
    ['eligible', 'a dead one', item(), facts(), around()],
    ['eligible', 'an expired one', item(), facts({ state: 'expired' }), around()],
    ['already_at_destination', 'a delivered one', item(), facts({ state: 'delivered' }), around()],
    ['already_at_destination', 'one found by a lookup', item(), facts(), around({ found: 'one' })],
    ['already_at_destination', 'one found twice', item(), facts(), around({ found: 'several' })],
    ['eligible', 'one looked up and not found', item(), facts(), around({ found: 'none' })],
    ['expired_beyond_max_age', 'an old one', item({ maxAgeMs: 4 * hour }), facts(), around()],
    [
      'expired_beyond_max_age',
      'an old refused record, by the time of its record',
      item({ submittedAt: undefined, isRefused: true, maxAgeMs: 4 * hour }),
      facts({ submitted_at: new Date(now.getTime() - 5 * hour).toISOString() }),
      around(),
    ],
    [
      'eligible',
      'a refused record of now',
      item({ submittedAt: undefined, isRefused: true }),
      facts({ submitted_at: now.toISOString() }),
      around(),
    ],
    ['consent_withdrawn', 'one whose consent is gone', item(), facts(), around({ payload: 'withdrawn' })],
    ['eligible', 'one that needs no consent', item(), facts(), around({ payload: 'withdrawn', requiresConsent: false })],
    ['erased', 'an erased one', item(), facts({ state: 'erased' }), around()],
    ['erased', 'one whose payload is gone', item(), facts(), around({ payload: 'gone' })],
    ['key_retention_passed', 'a doubtful one whose key is forgotten', item(), forgotten, around()],
    ['eligible', 'the same, looked up and not found', item(), forgotten, around({ found: 'none' })],
    ['key_retention_passed', 'the same, looked up in vain', item(), forgotten, around({ found: 'unknown' })],
    ['eligible', 'the same while the key is kept', item(), forgotten, around({ keyRetentionMs: 72 * hour })],
    ['destination_held', 'one of a held destination', item(), facts(), around({ held: true })],
    ['in_flight', 'one in flight', item(), facts({ state: 'in_flight' }), around()],
    ['in_flight', 'one that waits', item(), facts({ state: 'waiting' }), around()],
    ['uncertain', 'an uncertain one', item(), facts({ state: 'uncertain' }), around()],
    ['mapping_changed', 'one of an older mapping', item(), facts({ mapping_version: 2 }), around()],
    [
      'mapping_changed',
      'one whose request is another since',
      item(),
      facts({ operations: [{ ...operation, request_hash: 'v1:b' }] }),
      around(),
    ],
    ['mapping_changed', 'one of a later generation', item(), facts({ generation: 2 }), around()],
    ['not_replayable', 'one without a topic', item({ notReplayable: 'the lead has no route' }), facts(), around()],
    ['not_replayable', 'one without a record', item({ hasRecord: false }), facts(), around()],
    ['not_replayable', 'one whose letter a person has dismissed', item({ dismissed: true }), facts(), around()],
    ['not_replayable', 'one that nobody knows', item(), undefined, around()],
    ['not_replayable', 'one of an earlier round', item({ deadlineAt: new Date(0) }), facts(), around()],
    ['not_replayable', 'a discarded one', item(), facts({ state: 'discarded' }), around()],
    ['already_in_batch', 'one of another batch', item({ otherBatch: 'b-1' }), facts(), around()],
  ])('says %s of %s', (verdict, _name, letter, delivery, context) => {
    expect(judge(letter, delivery, context).verdict).toBe(verdict);
  });

  it('names the other batch', () => {
    expect(judge(item({ otherBatch: 'b-1' }), facts(), around())).toEqual({ verdict: 'already_in_batch', detail: 'b-1' });
  });

  it('asks nothing of the mapping of what succeeded', () => {
    const operations = [{ ...operation, state: 'succeeded' as const, mapping_version: 0 }, operation];
    const frozen = { generation: 1, requestHash: 'lead=v1:a lead=v1:a' };
    expect(judge(item({ frozen }), facts({ operations }), around()).verdict).toBe('eligible');
  });
});
