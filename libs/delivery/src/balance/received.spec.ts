import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addsUp, type ReceivedDay, sumReceived } from './received.js';

const count = fc.nat(1_000_000);
const outcomes = fc.record({ accepted: count, repeats: count, conflicts: count, rejected: count });
const named = fc.record({
  organization: fc.constantFrom('', 'demo'),
  source: fc.constantFrom('', 'website'),
  day: fc.constant('2026-06-01'),
});
/** A day of which nothing got lost. */
const whole = fc
  .tuple(named, outcomes, fc.boolean())
  .map(([name, parts, kept]): ReceivedDay => ({ ...name, ...parts, received: total(parts), ...(kept && { leads: parts.accepted }) }));
const total = ({ accepted, repeats, conflicts, rejected }: Omit<ReceivedDay, 'received' | 'organization' | 'source' | 'day'>) =>
  accepted + repeats + conflicts + rejected;

describe('what was received', () => {
  it('adds up where every submission has one outcome and every accepted one is there', () => {
    fc.assert(
      fc.property(fc.array(whole), (days) => {
        const sums = sumReceived(days);
        expect(sums.differences).toEqual([]);
        expect(sums.received).toBe(total(sums));
      }),
    );
  });

  it('names each day of which a part was counted wrongly, and no other', () => {
    const part = fc.constantFrom('received', 'accepted', 'repeats', 'conflicts', 'rejected', 'leads');
    fc.assert(
      fc.property(fc.array(whole), whole, part, fc.integer({ min: -5, max: 5 }), (days, day, wrong, by) => {
        fc.pre(by !== 0 && (wrong !== 'leads' || day.leads !== undefined));
        const off = { ...day, [wrong]: (day[wrong as 'received'] ?? 0) + by };
        expect(sumReceived([...days, off]).differences).toEqual([off]);
      }),
    );
  });

  it('does not hold a day against leads that may be purged', () => {
    const day = {
      organization: 'demo',
      source: 'website',
      day: '2026-01-01',
      received: 3,
      accepted: 3,
      repeats: 0,
      conflicts: 0,
      rejected: 0,
    };
    expect(addsUp(day)).toBe(true);
    expect(addsUp({ ...day, leads: 2 })).toBe(false);
  });
});
