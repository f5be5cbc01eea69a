import { describe, expect, it } from '@jest/globals';
import { Bulkhead } from './bulkhead.js';

describe('a bulkhead', () => {
  it('holds no more than its limit at once, lets everyone in, in order', async () => {
    const bulkhead = new Bulkhead(() => 3);
    const order: number[] = [];
    let most = 0;
    let inside = 0;
    await Promise.all(
      Array.from({ length: 3_000 }, async (_, index) => {
        await bulkhead.enter();
        order.push(index);
        most = Math.max(most, ++inside);
        await Promise.resolve();
        inside--;
        bulkhead.leave();
      }),
    );
    expect(most).toBe(3);
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(order).toHaveLength(3_000);
    expect(bulkhead.held).toBe(0);
  });
});
