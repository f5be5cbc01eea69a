import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { DeliveryState } from '#contracts';
import { type Balance, BalanceSum, type DeliveryFacts, intakePlaces, placeOf } from './compare.js';
import type { ReceivedDay } from './received.js';

const states: DeliveryState[] = [
  'accepted',
  'pending',
  'in_flight',
  'waiting',
  'held',
  'uncertain',
  'delivered',
  'dead',
  'expired',
  'discarded',
  'erased',
];
const facts = fc.record(
  {
    event_id: fc.uuid(),
    destination: fc.constantFrom('crm', 'marketing'),
    owner: fc.record({ state: fc.constantFrom(...states), complete: fc.boolean() }),
    intake: fc.constantFrom(...intakePlaces),
    held: fc.boolean(),
  },
  { requiredKeys: ['event_id', 'destination', 'held'] },
) as fc.Arbitrary<DeliveryFacts>;
const at = '2026-06-01T12:00:00.000Z';
const one = (changes: Partial<DeliveryFacts>): DeliveryFacts => ({ event_id: 'e', destination: 'crm', held: false, ...changes });

/** As they come: a page at a time. */
const balanceOf = (deliveries: readonly DeliveryFacts[], received: readonly ReceivedDay[]): Balance => {
  const sum = new BalanceSum();
  for (let from = 0; from < deliveries.length; from += 3) sum.add(deliveries.slice(from, from + 3));
  return sum.balance(at, received);
};

const counted = (balance: Balance): number => {
  const found = Object.values(balance.found).reduce((sum, count) => sum + count, 0);
  const waiting = balance.outbox + balance.parked + balance.unclaimed_young + balance.unclaimed_held;
  return found + waiting + balance.missing.length + balance.incomplete.length;
};

describe('the place of a delivery', () => {
  it.each<[string, Partial<DeliveryFacts>, string]>([
    ['its owner has it', { owner: { state: 'waiting', complete: true } }, 'found'],
    ['its owner has it, whatever intake thinks', { owner: { state: 'dead', complete: true }, intake: 'overdue', held: true }, 'found'],
    ['its owner has only some of its operations', { owner: { state: 'delivered', complete: false } }, 'incomplete'],
    ['its record waits for the relay', { intake: 'outbox' }, 'outbox'],
    ['its record cannot be sent', { intake: 'parked' }, 'parked'],
    ['it was announced just now', { intake: 'young' }, 'unclaimed_young'],
    ['it was announced just now and its destination is paused', { intake: 'young', held: true }, 'unclaimed_young'],
    ['nobody claimed it because its destination is paused', { intake: 'overdue', held: true }, 'unclaimed_held'],
    ['nobody claimed it though its destination takes leads', { intake: 'overdue' }, 'missing'],
    ['its owner had it once', { intake: 'claimed' }, 'missing'],
    ['its owner had it once and its destination is paused', { intake: 'claimed', held: true }, 'missing'],
    ['nobody says anything of it', {}, 'missing'],
  ])('where %s', (_, changes, kind) => {
    expect(placeOf(one(changes)).kind).toBe(kind);
  });
});

describe('a balance', () => {
  it('counts every accepted delivery once, whatever was said of it', () => {
    fc.assert(
      fc.property(fc.array(facts), (deliveries) => {
        const balance = balanceOf(deliveries, []);
        expect(balance.accepted).toBe(deliveries.length);
        expect(counted(balance)).toBe(deliveries.length);
      }),
    );
  });

  it('is balanced exactly where nothing is missing or incomplete, and names every such delivery', () => {
    fc.assert(
      fc.property(fc.array(facts), (deliveries) => {
        const { balanced, missing, incomplete } = balanceOf(deliveries, []);
        const lost = deliveries.filter((delivery) => placeOf(delivery).kind === 'missing');
        const partial = deliveries.filter(({ owner }) => owner?.complete === false);
        expect(balanced).toBe(lost.length === 0 && partial.length === 0);
        expect(missing).toEqual(lost.map(({ event_id, destination }) => ({ event_id, destination })));
        expect(incomplete).toEqual(partial.map(({ event_id, destination }) => ({ event_id, destination })));
      }),
    );
  });

  it('is not balanced where a day of a source does not add up', () => {
    const counts = { received: 2, accepted: 1, repeats: 0, conflicts: 0, rejected: 0 };
    const day = { organization: 'demo', source: 'website', day: '2026-06-01', ...counts };
    expect(balanceOf([], [day])).toMatchObject({ balanced: false, received: { received: 2, accepted: 1, differences: [day] } });
  });

  it('never counts as missing what its owner has', () => {
    fc.assert(
      fc.property(facts, (delivery) => {
        const owned = { ...delivery, owner: { state: 'in_flight' as const, complete: true } };
        expect(balanceOf([owned], [])).toMatchObject({ balanced: true, found: { in_flight: 1 } });
      }),
    );
  });

  it('holds no delivery that is where it should be, however many there are', () => {
    const sum = new BalanceSum();
    const found = one({ owner: { state: 'delivered', complete: true } });
    for (let n = 0; n < 1_000; n++) sum.add([found]);
    sum.add([one({ event_id: 'lost' })]);
    expect(JSON.stringify(sum).length).toBeLessThan(300);
    expect(sum.balance(at, [])).toMatchObject({ accepted: 1_001, found: { delivered: 1_000 }, missing: [{ event_id: 'lost' }] });
  });
});
