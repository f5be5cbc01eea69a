import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isFinal, type OperationState } from '#contracts';
import { expireLease, type LeasedOperation, type LeaseRules } from './expire-lease.js';
import { mayBecome } from './transitions.js';

const operation = (state: OperationState, more: Partial<LeasedOperation> = {}): LeasedOperation => ({
  operationKey: state,
  kind: 'lead',
  state,
  marked: false,
  attempts: 0,
  ...more,
});
const rules = (nativeIdempotency: boolean, more: Partial<LeaseRules> = {}): LeaseRules => ({
  nativeIdempotency,
  attempts: 4,
  canLookUp: () => false,
  incomplete: false,
  ...more,
});
const leased = fc.array(
  fc.record({
    operationKey: fc.uuid(),
    kind: fc.constantFrom('contact', 'lead'),
    state: fc.constantFrom<OperationState>('succeeded', 'in_flight'),
    marked: fc.boolean(),
    attempts: fc.nat(5),
  }),
  { minLength: 1, maxLength: 4 },
);

describe('a lease that ran out', () => {
  it('with native idempotency is due again, and its first open operation has used an attempt', () => {
    const after = expireLease([operation('succeeded'), operation('in_flight'), operation('in_flight')], rules(true));
    expect(after).toMatchObject({
      state: 'pending',
      wake: true,
      operations: [
        { state: 'succeeded', attempted: false },
        { state: 'pending', attempted: true },
        { state: 'pending', attempted: false },
      ],
    });
  });

  it('with native idempotency is dead after its last attempt, or uncertain where it can be looked up', () => {
    const last = [operation('in_flight', { attempts: 3 }), operation('in_flight')];
    expect(expireLease(last, rules(true))).toMatchObject({
      state: 'dead',
      wake: false,
      operations: [{ state: 'dead' }, { state: 'pending' }],
    });
    expect(expireLease(last, rules(true, { canLookUp: () => true }))).toMatchObject({
      state: 'uncertain',
      wake: false,
      operations: [{ state: 'uncertain' }, { state: 'pending' }],
    });
    expect(expireLease([operation('in_flight', { attempts: 2 })], rules(true))).toMatchObject({ state: 'pending' });
  });

  it('without it is uncertain where an operation was marked, and is not woken', () => {
    expect(expireLease([operation('in_flight', { marked: true }), operation('in_flight')], rules(false))).toMatchObject({
      state: 'uncertain',
      wake: false,
      operations: [
        { state: 'uncertain', attempted: true },
        { state: 'pending', attempted: false },
      ],
    });
  });

  it('without it and unmarked is as new: no attempt is used', () => {
    expect(expireLease([operation('in_flight', { attempts: 9 })], rules(false))).toMatchObject({
      state: 'pending',
      wake: true,
      operations: [{ state: 'pending', attempted: false }],
    });
  });

  it('of a delivery with operations whose rows are gone is due again, neither done nor as if it had just been accepted', () => {
    for (const native of [true, false]) {
      expect(expireLease([], rules(native, { incomplete: true }))).toEqual({ state: 'pending', wake: true, operations: [] });
      expect(expireLease([], rules(native))).toMatchObject({ state: 'pending', wake: true });
      expect(expireLease([operation('succeeded')], rules(native, { incomplete: true }))).toMatchObject({ state: 'pending', wake: true });
    }
    expect(expireLease([operation('in_flight', { marked: true })], rules(false, { incomplete: true }))).toMatchObject({
      state: 'uncertain',
      wake: false,
    });
  });

  it('keeps what had ended, leaves nothing in flight, and makes allowed changes only', () => {
    fc.assert(
      fc.property(leased, fc.boolean(), fc.boolean(), (operations, native, lookup) => {
        const after = expireLease(operations, rules(native, { canLookUp: () => lookup }));
        after.operations.forEach((one, index) => {
          const before = operations[index]?.state ?? 'pending';
          expect(one.state).not.toBe('in_flight');
          if (isFinal(before)) expect(one.state).toBe(before);
          else expect(mayBecome(before, one.state)).toBe(true);
        });
      }),
    );
  });

  it('never wakes a delivery with an operation that may have been sent and cannot be repeated', () => {
    fc.assert(
      fc.property(leased, (operations) => {
        const doubtful = operations.some(({ state, marked }) => state === 'in_flight' && marked);
        if (doubtful) expect(expireLease(operations, rules(false))).toMatchObject({ wake: false, state: 'uncertain' });
      }),
    );
  });
});
