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

  it('lets in as many as fit when its limit grows, and nobody while it is smaller than what is held', async () => {
    let limit = 2;
    const bulkhead = new Bulkhead(() => limit);
    let inside = 0;
    for (let i = 0; i < 10; i++) void Promise.resolve(bulkhead.enter()).then(() => inside++);
    await Promise.resolve();
    await Promise.resolve();
    expect(inside).toBe(2);
    limit = 5;
    bulkhead.refresh();
    await Promise.resolve();
    await Promise.resolve();
    expect(inside).toBe(5);
    limit = 4;
    bulkhead.leave();
    await Promise.resolve();
    await Promise.resolve();
    expect(inside).toBe(5);
    expect(bulkhead.held).toBe(4);
  });
});
