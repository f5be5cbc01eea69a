import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { batchHash, type HashedItem } from './batch-hash.js';

const caps = { max: 10, rate_per_s: 20, concurrency: 50, max_duration_ms: 1_000, new_deadline_ms: 2_000, canary: 10, reason: 'mended' };
const item: fc.Arbitrary<HashedItem> = fc.record({
  event_id: fc.uuid(),
  destination: fc.constantFrom('crm', 'marketing', 'a "quoted", one'),
  mapping_version: fc.option(fc.integer({ min: 1, max: 3 })),
  request_hash: fc.option(fc.constantFrom('v1:a', 'v1:b')),
  generation: fc.option(fc.integer({ min: 1, max: 2 })),
});
const items = fc.uniqueArray(item, { selector: ({ event_id, destination }) => `${event_id} ${destination}`, minLength: 1, maxLength: 20 });

it('is the same in whatever order the items come', () => {
  fc.assert(fc.property(items, (list) => batchHash(list, caps) === batchHash(list.toReversed(), caps)));
});

it('is another when an item, a pinned request, a generation or a cap is', () => {
  fc.assert(
    fc.property(items, fc.nat(), (list, at) => {
      const hash = batchHash(list, caps);
      const one = list[at % list.length] as HashedItem;
      const others = list.filter((other) => other !== one);
      expect(batchHash(others, caps)).not.toBe(hash);
      for (const changed of [
        { ...one, request_hash: 'v1:other' },
        { ...one, mapping_version: 9 },
        { ...one, generation: 9 },
        { ...one, destination: 'elsewhere' },
      ]) {
        expect(batchHash([...others, changed], caps)).not.toBe(hash);
      }
      for (const cap of Object.keys(caps)) expect(batchHash(list, { ...caps, [cap]: 1 })).not.toBe(hash);
    }),
  );
});
