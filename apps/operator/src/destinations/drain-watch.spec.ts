import { describe, expect, it } from '@jest/globals';
import { DrainWatch } from './drain-watch.js';

const watched = (...samples: [second: number, left: number, blocked?: boolean][]): DrainWatch => {
  const watch = new DrainWatch();
  for (const [second, left, blocked = false] of samples) watch.see('crm', { atMs: second * 1_000, left, blocked });
  return watch;
};

describe('the drain of a destination', () => {
  it('says how much is left, how fast it goes and when it will be done', () => {
    expect(watched([0, 400, true], [5, 400], [10, 300], [15, 200]).of('crm')).toEqual({ left: 200, total: 400, rate_per_s: 20, eta_s: 10 });
  });

  it('has no end in sight while it stands or grows', () => {
    expect(watched([0, 400, true], [5, 400]).of('crm')).toMatchObject({ left: 400, eta_s: null });
    expect(watched([0, 400, true], [5, 400], [10, 450]).of('crm')).toMatchObject({ left: 450, total: 450, rate_per_s: 0, eta_s: null });
  });

  it('goes by the last minute alone', () => {
    expect(watched([0, 1_000, true], [1, 1_000], [100, 120], [130, 60]).of('crm')).toMatchObject({ rate_per_s: 2, eta_s: 30 });
  });

  it('is none while nothing is sent, after it is over, and of the few that wait for a retry', () => {
    expect(watched([0, 400, true]).of('crm')).toBeUndefined();
    expect(watched([0, 400, true], [5, 200], [10, 0]).of('crm')).toBeUndefined();
    expect(watched([0, 400, true], [5, 0], [10, 3], [15, 2]).of('crm')).toBeUndefined();
    expect(watched([0, 3], [5, 2]).of('crm')).toBeUndefined();
    expect(watched().of('crm')).toBeUndefined();
  });

  it('is not told while nobody can say how many are left, and goes on from its height afterwards', () => {
    const watch = watched([0, 400, true], [5, 400], [10, 300]);
    watch.lose('crm');
    expect(watch.of('crm')).toBeUndefined();
    watch.see('crm', { atMs: 60_000, left: 200, blocked: false });
    expect(watch.of('crm')).toEqual({ left: 200, total: 400, rate_per_s: 0, eta_s: null });
    watch.lose('nothing known');
    expect(watch.of('nothing known')).toBeUndefined();
  });

  it('is seen also where nobody saw what it came from', () => expect(watched([0, 80], [5, 70]).of('crm')).toMatchObject({ left: 70 }));
});
