import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isFinal, type OperationState } from '#contracts';
import { expireLease, type LeasedOperation } from './expire-lease.js';
import { mayBecome } from './transitions.js';

const operation = (state: OperationState, marked = false): LeasedOperation => ({ operationKey: state, state, marked });
const leased = fc.array(
  fc.record({
    operationKey: fc.uuid(),
    state: fc.constantFrom<OperationState>('succeeded', 'in_flight'),
    marked: fc.boolean(),
  }),
  { minLength: 1, maxLength: 4 },
);

describe('a lease that ran out', () => {
  it('with native idempotency is due again, and its first open operation has used an attempt', () => {
    const after = expireLease([operation('succeeded'), operation('in_flight'), operation('in_flight')], true);
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

  it('without it is uncertain where an operation was marked, and is not woken', () => {
    expect(expireLease([operation('in_flight', true), operation('in_flight')], false)).toMatchObject({
      state: 'uncertain',
      wake: false,
      operations: [
        { state: 'uncertain', attempted: true },
        { state: 'pending', attempted: false },
      ],
    });
  });

  it('without it and unmarked is as new: no attempt is used', () => {
    expect(expireLease([operation('in_flight')], false)).toMatchObject({
      state: 'pending',
      wake: true,
      operations: [{ state: 'pending', attempted: false }],
    });
  });

  it('keeps what had ended, leaves nothing in flight, and makes allowed changes only', () => {
    fc.assert(
      fc.property(leased, fc.boolean(), (operations, native) => {
        const after = expireLease(operations, native);
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
        if (doubtful) expect(expireLease(operations, false)).toMatchObject({ wake: false, state: 'uncertain' });
      }),
    );
  });
});
