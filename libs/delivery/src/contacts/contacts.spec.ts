import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { operationStates } from '#contracts';
import { busyWaitMs, mustWaitFor, type Owner } from './busy.js';
import { newerFields, rankOf } from './rank.js';

const owner = (state: Owner['state'], more: Partial<Owner> = {}): Owner => ({
  operationKey: 'first',
  state,
  deliveryState: state === 'succeeded' ? 'delivered' : state,
  ...more,
});

describe('an operation that wants to write a person', () => {
  const open = ['pending', 'in_flight', 'waiting', 'held', 'uncertain'];

  it.each(operationStates)('waits for an owner that is %s only as long as that is open', (state) => {
    expect(mustWaitFor(owner(state), 'second')).toBe(open.includes(state));
  });

  it('never waits for itself or for nobody', () => {
    expect(mustWaitFor(owner('uncertain'), 'first')).toBe(false);
    expect(mustWaitFor(undefined, 'second')).toBe(false);
  });

  it('looks again after the owner is due, after a second at least and a good minute at most', () => {
    expect(busyWaitMs(owner('in_flight'), { waiting: 0, random: 0 })).toBe(1_000);
    expect(busyWaitMs(owner('waiting', { dueInMs: 8_000 }), { waiting: 0, random: 0 })).toBe(9_000);
    const wait = fc.record({ waiting: fc.nat(1_000_000), random: fc.double({ min: 0, max: 0.999, noNaN: true }) });
    fc.assert(
      fc.property(fc.constantFrom(...operationStates), fc.integer({ min: -86_400_000, max: 86_400_000 }), wait, (state, dueInMs, load) => {
        const ms = busyWaitMs(owner(state, { dueInMs }), load);
        expect(ms).toBeGreaterThanOrEqual(1_000);
        expect(ms).toBeLessThanOrEqual(72_000);
      }),
    );
  });

  it('looks less often the more wait already, since it is woken when its turn comes', () => {
    const waits = [0, 10, 100, 600].map((waiting) => busyWaitMs(owner('in_flight'), { waiting, random: 0 }));
    expect(waits).toEqual([1_000, 2_000, 11_000, 60_000]);
  });
});

describe('the rank of a submission', () => {
  const submission = fc.record({
    submittedAt: fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true }),
    eventId: fc.uuid(),
  });

  it('orders by when it was submitted, then by event id, as text', () => {
    fc.assert(
      fc.property(submission, submission, (a, b) => {
        const byTime = a.submittedAt.getTime() - b.submittedAt.getTime();
        const expected = byTime === 0 ? Math.sign(Number(a.eventId > b.eventId) - Number(a.eventId < b.eventId)) : Math.sign(byTime);
        const [left, right] = [rankOf(a), rankOf(b)];
        expect(Math.sign(Number(left > right) - Number(left < right))).toBe(expected);
      }),
    );
  });

  it('takes a submission before 1970 for the oldest', () => {
    expect(rankOf({ submittedAt: new Date(-5), eventId: 'A' })).toBe('000000000000000:a');
  });

  it('leaves out exactly what a later one wrote, whatever the fields are called', () => {
    expect(newerFields(['name', 'phone', 'constructor', '__proto__'], { name: '2', phone: '1' }, '1')).toEqual(['name']);
    const names = fc.uniqueArray(fc.string({ minLength: 1 }), { maxLength: 8 });
    fc.assert(
      fc.property(names, fc.dictionary(fc.string(), fc.constantFrom('1', '2', '3')), (fields, kept) => {
        const newer = newerFields(fields, kept, '2');
        for (const name of fields) expect(newer.includes(name)).toBe(Object.hasOwn(kept, name) && kept[name] === '3');
      }),
    );
  });
});
