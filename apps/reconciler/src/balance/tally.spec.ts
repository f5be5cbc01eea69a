import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { DeliveryFacts } from '#delivery';
import { newEventId } from '#runtime';
import { Tally } from './tally.js';

const noon = Date.parse('2026-05-01T12:00:00Z');

describe('Tally', () => {
  it('counts every delivery once, on its own day, under its source and destination', () => {
    const facts = fc.record({
      event_id: fc.constantFrom(0, 1, 2).map((day) => newEventId(noon + day * 86_400_000)),
      destination: fc.constantFrom('crm', 'marketing'),
      organization: fc.constant('demo'),
      source: fc.constantFrom('website', 'partner'),
      held: fc.constant(false),
      owner: fc.option(
        fc.record({ state: fc.constantFrom('delivered' as const, 'dead' as const, 'waiting' as const), complete: fc.boolean() }),
        {
          nil: undefined,
        },
      ),
      intake: fc.constantFrom('outbox' as const, 'young' as const, 'claimed' as const),
    });
    fc.assert(
      fc.property(fc.array(facts), (many) => {
        const tally = new Tally();
        tally.add(many as DeliveryFacts[]);
        const rows = tally.list();
        for (const row of rows) {
          const found = Object.values(row.found).reduce((sum, count) => sum + count, 0);
          expect(row.accepted).toBe(found + row.missing + row.incomplete);
          const mine = many.filter(
            (one) =>
              one.source === row.source &&
              one.destination === row.destination &&
              row.day ===
                `2026-05-0${1 + [0, 1, 2].findIndex((day) => one.event_id.startsWith(newEventId(noon + day * 86_400_000).slice(0, 13)))}`,
          );
          expect(row.accepted).toBe(mine.length);
          expect(row.final).toBe(mine.every(({ owner }) => owner?.complete === true && owner.state !== 'waiting'));
        }
        expect(rows.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(many.length);
      }),
    );
  });
});
