import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#runtime';
import { eventually } from '../../../test/support/eventually.js';
import { Periodic } from './periodic.js';

describe('what is done again and again', () => {
  it('is tried soon until it has worked once, and then no more before its time', async () => {
    let runs = 0;
    const run = () => {
      runs += 1;
      return runs < 3 ? Promise.reject(new Error('away')) : Promise.resolve();
    };
    const periodic = new Periodic({ what: 'test', everyMs: 3_600_000, firstMs: 1, run, logger: createLogger('test', 'silent') });
    periodic.start();
    await eventually(() => expect(runs).toBe(3));
    await periodic.stop();
    expect(runs).toBe(3);
  });
});
