import { describe, expect, it } from '@jest/globals';
import { Progress, type Situation } from './progress.js';

function fixture() {
  let now = 0;
  const progress = new Progress(() => now);
  const idle: Situation = { state: 'running', movable: 0, lag: 0 };
  return {
    progress,
    /** Lets time pass while the fetch loop goes round, or not. */
    pass: (ms: number, fetching = true) => {
      now += ms;
      if (fetching) progress.fetched();
    },
    check: (situation: Partial<Situation> = {}, positions = '') => progress.check({ ...idle, ...situation }, positions),
  };
}

describe('Progress', () => {
  it('is green while nothing waits, however long', () => {
    const { pass, check } = fixture();
    for (let hour = 0; hour < 24; hour += 1) pass(3_600_000);
    expect(check()).toEqual({ ok: true });
  });

  it('turns red when records wait and none moves for more than 12 s, and green again when one does', () => {
    const { progress, pass, check } = fixture();
    expect(check({ movable: 500 }).ok).toBe(true);
    pass(12_000);
    expect(check({ movable: 500 }).ok).toBe(true);
    pass(1_000);
    expect(check({ movable: 500 })).toEqual({ ok: false, detail: '500 records wait and none moved for 13 s' });
    progress.moved();
    expect(check({ movable: 499 }).ok).toBe(true);
  });

  it('turns red on lag that only the broker knows of: a partition that is never fetched', () => {
    const { pass, check } = fixture();
    expect(check({ lag: 3 }).ok).toBe(true);
    pass(11_000);
    expect(check({ lag: 3 }).ok).toBe(false);
    expect(check({ lag: 0 }).ok).toBe(true);
  });

  it('counts a moving fetch position as progress', () => {
    const { pass, check } = fixture();
    for (let round = 0; round < 10; round += 1) {
      expect(check({ lag: 9 }, `position ${round}`).ok).toBe(true);
      pass(5_000);
    }
  });

  it('gives a new record after a quiet hour its time', () => {
    const { pass, check } = fixture();
    check();
    pass(3_600_000);
    expect(check({ movable: 1 }).ok).toBe(true);
    pass(9_000);
    expect(check({ movable: 1 }).ok).toBe(true);
  });

  it('is red at the first question, where nobody asked since the records came', () => {
    const { progress, pass, check } = fixture();
    pass(3_600_000);
    progress.waits(1);
    pass(5_000);
    progress.waits(2);
    pass(10_000);
    expect(check({ movable: 2 }, 'a position that was not known before')).toEqual({
      ok: false,
      detail: '2 records wait and none moved for 15 s',
    });
  });

  it('counts the wait of records anew once those before them moved', () => {
    const { progress, pass, check } = fixture();
    progress.waits(1);
    pass(1_000);
    progress.moved();
    pass(3_600_000);
    progress.waits(1);
    pass(9_000);
    expect(check({ movable: 1 }).ok).toBe(true);
    pass(4_000);
    expect(check({ movable: 1 }).ok).toBe(false);
  });

  it('does not take the fetch that goes on beside a stuck handler for progress', () => {
    const { progress, pass, check } = fixture();
    progress.waits(1);
    for (let round = 1; round <= 13; round += 1) {
      pass(1_000);
      check({ movable: round }, `position ${round}`);
    }
    expect(check({ movable: 14 }, 'position 14').ok).toBe(false);
  });

  it('turns red when the fetch loop stands still, with or without known lag', () => {
    const { pass, check } = fixture();
    pass(11_000, false);
    expect(check({ lag: undefined })).toEqual({ ok: false, detail: 'nothing was fetched for 11 s' });
  });

  it.each<[string, Partial<Situation>, boolean]>([
    ['fetched records that nobody settles', { movable: 20, lag: undefined }, true],
    ['fetched records with more behind them', { movable: 20, lag: 500 }, true],
    ['lag that is never fetched', { movable: 0, lag: 20 }, true],
    ['a fetch loop that stands, with lag unknown', { movable: 0, lag: undefined }, false],
  ])('says in seconds how long a frozen consumer stood still, and its limit is below 15: %s', (_name, situation, fetching) => {
    const { pass, check } = fixture();
    check();
    pass(3_600_000);
    let report = check(situation);
    for (let second = 0; second < 60 && report.ok; second += 1) {
      pass(1_000, fetching);
      report = check(situation);
    }
    const said = Number(/for (\d+) s$/.exec(report.detail ?? '')?.[1]);
    expect(said).toBeGreaterThan(9);
    // The broker may take 2 s to name the lag.
    expect(said).toBeLessThanOrEqual(15 - 2);
  });

  it.each(['starting', 'down', 'stopped'] as const)('is red while the consumer is %s', (state) => {
    const { check } = fixture();
    expect(check({ state }).ok).toBe(false);
  });
});
