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
  lostBefore: false,
  attempts: 0,
  ...more,
});
const rules = (nativeIdempotency: boolean, more: Partial<LeaseRules> = {}): LeaseRules => ({
  nativeIdempotency,
  attempts: 4,
  canLookUp: () => false,
  incomplete: false,
  claims: 1,
  leftMs: 3_600_000,
  random: 0.5,
  ...more,
});
/** Lost before, and marked by the claim that is lost now. */
const sentAgain = { lostBefore: true, marked: true };
const leased = fc.array(
  fc.record({
    operationKey: fc.uuid(),
    kind: fc.constantFrom('contact', 'lead'),
    state: fc.constantFrom<OperationState>('succeeded', 'in_flight'),
    marked: fc.boolean(),
    lostBefore: fc.boolean(),
    attempts: fc.nat(5),
  }),
  { minLength: 1, maxLength: 4 },
);

describe('a lease that ran out', () => {
  it('with native idempotency is due again at once, and nothing is counted: its first open operation may have been sent, or was not', () => {
    const after = expireLease([operation('succeeded'), operation('in_flight', { attempts: 3 }), operation('in_flight')], rules(true));
    expect(after).toMatchObject({
      state: 'pending',
      wake: true,
      delayMs: 0,
      operations: [
        { state: 'succeeded', doubtful: false, attempted: false },
        { state: 'pending', doubtful: true, attempted: false },
        { state: 'pending', doubtful: false, attempted: false },
      ],
    });
  });

  it('again in a row counts an attempt of the operation whose call had begun, and of no other', () => {
    const [contact, lead, note] = [
      operation('in_flight', { ...sentAgain, kind: 'contact' }),
      operation('in_flight', sentAgain),
      operation('in_flight', { lostBefore: true, kind: 'note' }),
    ];
    expect(expireLease([contact, lead, note], rules(true))).toMatchObject({
      state: 'pending',
      wake: true,
      operations: [
        { state: 'pending', attempted: false },
        { state: 'pending', doubtful: true, attempted: true },
        { state: 'pending', attempted: false },
      ],
    });
  });

  it('with native idempotency is dead after the last attempt, or uncertain where it can be looked up', () => {
    const last = [operation('in_flight', { ...sentAgain, attempts: 3 }), operation('in_flight', { lostBefore: true })];
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
    expect(expireLease([operation('in_flight', { ...sentAgain, attempts: 2 })], rules(true))).toMatchObject({ state: 'pending' });
  });

  it('never ends what was claimed ahead of its calls, however often its process dies', () => {
    let one = operation('in_flight');
    for (let claims = 1; claims <= 100; claims++) {
      const { state, wake, operations } = expireLease([one], rules(true, { claims }));
      expect({ state, wake, attempted: operations[0]?.attempted }).toEqual({ state: 'pending', wake: true, attempted: false });
      one = { ...one, lostBefore: true };
    }
  });

  it('ends what kills its process by its call: one loss later than by failures', () => {
    let one = operation('in_flight');
    let losses = 0;
    for (let state: string = 'pending'; state === 'pending'; losses++) {
      const after = expireLease([one], rules(true, { claims: losses + 1 }));
      state = after.state;
      one = { ...one, ...sentAgain, attempts: one.attempts + Number(after.operations[0]?.attempted) };
    }
    expect(losses).toBe(5);
  });

  it('again in a row scatters what was lost together, wider with each claim and up to a minute', () => {
    const scattered = (claims: number, random: number): number =>
      expireLease([operation('in_flight', { lostBefore: true })], rules(true, { claims, random })).delayMs;
    expect(scattered(2, 0)).toBe(0);
    expect(scattered(2, 0.999)).toBe(4_995);
    expect(scattered(3, 0.5)).toBe(5_000);
    expect(scattered(60, 0.999)).toBe(59_940);
    expect(expireLease([operation('in_flight', { lostBefore: true })], rules(false, { claims: 3 })).delayMs).toBe(5_000);
  });

  it('again in a row scatters nothing past its deadline: by a third of the time left at most', () => {
    const scattered = (leftMs: number): number =>
      expireLease([operation('in_flight', { lostBefore: true })], rules(true, { claims: 60, random: 0.999, leftMs })).delayMs;
    expect(scattered(90_000)).toBe(29_970);
    expect(scattered(-1)).toBe(0);
    expect(scattered(Number.POSITIVE_INFINITY)).toBe(59_940);
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
      expect(expireLease([], rules(native, { incomplete: true }))).toEqual({ state: 'pending', wake: true, operations: [], delayMs: 0 });
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

  it('counts an attempt only where a call was marked', () => {
    fc.assert(
      fc.property(leased, fc.boolean(), (operations, native) => {
        const counted = expireLease(operations, rules(native)).operations.filter(({ attempted }) => attempted);
        for (const { marked } of counted) expect(marked).toBe(true);
        if (native) expect(counted.length).toBeLessThanOrEqual(1);
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
