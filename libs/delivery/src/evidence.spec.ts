import { describe, expect, it } from '@jest/globals';
import type { DeliveryState, OperationState } from '#contracts';
import { weighEvidence } from './evidence.js';
import type { StoredDelivery, StoredOperation } from './stored-delivery.js';

const nowMs = Date.parse('2026-11-30T10:00:00.000Z');
/** Absence counts 5 s after the call began. */
const target = { timeoutMs: 2_000, verification: { maxExecutionMs: 2_000, searchLagMs: 1_000, horizonMs: 1_800_000 } };

interface Options {
  delivery?: DeliveryState;
  operation?: Partial<StoredOperation>;
  more?: Partial<StoredDelivery>;
}

function stored({ delivery, operation, more }: Options): StoredDelivery {
  const one = { kind: 'lead', operationKey: 'k', state: 'uncertain' as OperationState, attempts: 1, attemptsBefore: 0, absences: 0 };
  const only = { ...one, ...operation };
  return {
    eventId: 'e-1',
    destination: 'crm',
    state: delivery ?? (only.state === 'succeeded' ? 'delivered' : only.state),
    generation: 0,
    leadRef: 'L-1',
    submittedAt: new Date(nowMs - 60_000),
    deadlineAt: new Date(nowMs + 3_600_000),
    firstSeenAt: new Date(nowMs - 60_000),
    changedAt: new Date(nowMs - 60_000),
    test: false,
    recordKey: null,
    event: Buffer.from('event'),
    operations: [only],
    resolvedAt: new Date(nowMs),
    ...more,
  };
}

const weigh = (options: Options, finding: { kind: 'found'; ref: string } | { kind: 'absent' }) =>
  weighEvidence(stored(options), { operation_key: 'k', finding }, { target, attemptsAllowed: 4 });
const absent = { kind: 'absent' } as const;
const found = { kind: 'found', ref: 'R-1' } as const;

describe('a person’s finding about an operation', () => {
  it.each([0, 2_000, 4_999])('that it is not there counts for nothing %d ms after the call began', (agoMs) => {
    const countsFromMs = nowMs - agoMs + 5_000;
    expect(weigh({ operation: { sendingAtMs: nowMs - agoMs } }, absent)).toEqual({ kind: 'too_early', countsFromMs });
  });

  it('that it is not there counts from the moment at which the call cannot take effect any more', () => {
    expect(weigh({ operation: { sendingAtMs: nowMs - 5_000 } }, absent)).toMatchObject({
      kind: 'change',
      change: { state: 'waiting', dueInMs: 0 },
    });
  });

  it('is held against when the state changed where nobody noted when the call began', () => {
    const changedAt = new Date(nowMs - 1_000);
    expect(weigh({ more: { changedAt } }, absent)).toEqual({ kind: 'too_early', countsFromMs: nowMs + 4_000 });
  });

  it.each(['waiting', 'pending', 'held', 'dead', 'expired', 'uncertain'] as const)(
    'that it is there settles what is %s, though somebody else saw nothing',
    (state) => {
      expect(weigh({ operation: { state } }, found)).toMatchObject({
        kind: 'change',
        change: { state: 'delivered', operations: [{ state: 'succeeded', ref: 'R-1', note: { outcome: 'evidence_found', ref: 'R-1' } }] },
      });
    },
  );

  it('that it is there counts at once: no window is waited for', () => {
    expect(weigh({ operation: { sendingAtMs: nowMs } }, found)).toMatchObject({ kind: 'change' });
  });

  it.each(['waiting', 'pending', 'held'] as const)('cannot be right about what is %s and was never sent', (state) => {
    expect(weigh({ operation: { state, attempts: 0 } }, found)).toEqual({ kind: 'unfit' });
  });

  it('is noted alone while another call is made, which brings its own answer', () => {
    expect(weigh({ delivery: 'in_flight', operation: { state: 'in_flight' } }, found)).toMatchObject({
      kind: 'under_way',
      note: { operationKey: 'k', outcome: 'evidence_found', ref: 'R-1' },
    });
  });

  it('gives what was done without a reference its own, and never another one', () => {
    expect(weigh({ operation: { state: 'succeeded' } }, found)).toMatchObject({ kind: 'change', change: { state: 'delivered' } });
    expect(weigh({ operation: { state: 'succeeded', ref: 'R-0' } }, found)).toEqual({ kind: 'unfit' });
  });

  it.each(['discarded', 'erased'] as const)('changes nothing of what is %s', (state) => {
    expect(weigh({ operation: { state } }, found)).toEqual({ kind: 'unfit' });
  });

  it.each(['waiting', 'in_flight', 'dead', 'expired', 'succeeded'] as const)('that it is not there says nothing of what is %s', (state) => {
    expect(weigh({ operation: { state } }, absent)).toEqual({ kind: 'unfit' });
  });
});
