import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { consumerTimes } from './kafkajs-consumer.js';

describe('consumerTimes', () => {
  it('has room for three heartbeats and three fetches in every session', () => {
    fc.assert(
      fc.property(fc.integer({ min: 300, max: 600_000 }), (sessionTimeoutMs) => {
        const { heartbeatMs, maxWaitMs } = consumerTimes(sessionTimeoutMs);
        expect(heartbeatMs * 3).toBeLessThanOrEqual(sessionTimeoutMs);
        expect(maxWaitMs * 3).toBeLessThanOrEqual(sessionTimeoutMs);
        expect(Math.min(heartbeatMs, maxWaitMs)).toBeGreaterThan(0);
      }),
    );
  });

  it('beats every 3 s and waits 1 s in a long session', () => {
    expect(consumerTimes(30_000)).toEqual({ heartbeatMs: 3_000, maxWaitMs: 1_000 });
  });
});
