import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DueHeap } from './due-heap.js';

describe('DueHeap', () => {
  it('gives back everything in order of due time, equals in the order they came, and nothing early', () => {
    const step = fc.oneof(fc.record({ push: fc.integer({ min: 0, max: 50 }) }), fc.record({ advance: fc.integer({ min: 0, max: 20 }) }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const heap = new DueHeap<number>();
        let model: { dueMs: number; id: number }[] = [];
        let now = 0;
        for (const [id, action] of steps.entries()) {
          if ('push' in action) {
            heap.push(action.push, id);
            model.push({ dueMs: action.push, id });
          } else {
            now += action.advance;
            const due = model.filter(({ dueMs }) => dueMs <= now).sort((a, b) => a.dueMs - b.dueMs || a.id - b.id);
            for (const expected of due) expect(heap.popDue(now)).toMatchObject({ dueMs: expected.dueMs, item: expected.id });
            expect(heap.popDue(now)).toBeUndefined();
            model = model.filter(({ dueMs }) => dueMs > now);
          }
          expect(heap.size).toBe(model.length);
          expect(heap.nextDueMs).toBe(model.length === 0 ? undefined : Math.min(...model.map(({ dueMs }) => dueMs)));
        }
      }),
    );
  });
});
