import { describe, expect, it } from '@jest/globals';
import { TokenBucket } from './token-bucket.js';

describe('TokenBucket', () => {
  it('allows a burst of one second and then the rate', () => {
    let nowMs = 0;
    const bucket = new TokenBucket(10, () => nowMs);
    const allowed = () => Array.from({ length: 100 }, () => bucket.take()).filter((wait) => wait === 0).length;
    expect(allowed()).toBe(10);
    nowMs = 500;
    expect(allowed()).toBe(5);
    nowMs = 60_000;
    expect(allowed()).toBe(10);
  });

  it('says after how many seconds the next one is allowed', () => {
    const bucket = new TokenBucket(0.1, () => 0);
    expect(bucket.take()).toBe(0);
    expect(bucket.take()).toBe(10);
  });
});
