import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { lookupDoor } from './lookup-door.js';
import { initialState, isShut, type SharedState, standingOf } from './shared-state.js';

describe('the door of lookups', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** A purse that has a token at these times. */
  const purse = (...atMs: number[]) => {
    const begun = performance.now();
    return {
      take: () => {
        const [next] = atMs;
        if (next === undefined || performance.now() - begun < next) return undefined;
        atMs.shift();
        return performance.now() + 100;
      },
      waitMs: () => 100,
    };
  };
  const open = { isShut: () => false, onThrottled: () => undefined };

  it('lets everything through where there is no quota', async () => {
    expect(await lookupDoor(open).admit()).toBe(true);
  });

  it('lets each lookup have a token of its own, and waits a moment for it', async () => {
    const door = lookupDoor({ ...open, purse: purse(0, 1_500) });
    expect(await door.admit()).toBe(true);
    let second: boolean | undefined;
    void door.admit().then((admitted) => (second = admitted));
    await jest.advanceTimersByTimeAsync(1_400);
    expect(second).toBeUndefined();
    await jest.advanceTimersByTimeAsync(200);
    expect(second).toBe(true);
  });

  it('does not wait for longer than a lease allows', async () => {
    const admitted = lookupDoor({ ...open, purse: purse(2_500) }).admit();
    await jest.advanceTimersByTimeAsync(2_000);
    expect(await admitted).toBe(false);
  });

  it('shuts for what waits already', async () => {
    let shut = false;
    const admitted = lookupDoor({ ...open, isShut: () => shut, purse: purse(1_000) }).admit();
    await jest.advanceTimersByTimeAsync(500);
    shut = true;
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await admitted).toBe(false);
  });

  it.each<[string, Partial<SharedState>, boolean]>([
    ['flows', {}, false],
    ['ramps', { rampAtMs: 900 }, false],
    ['is held', { hold: { by: 'ada', reason: 'maintenance', atMs: 0 } }, true],
    ['asked to be left alone', { block: { reason: 'throttled', openAtMs: 1_001 } }, true],
    ['asked to be left alone until now', { block: { reason: 'throttled', openAtMs: 1_000 } }, false],
    ['cools down', { block: { reason: 'failing', openAtMs: 1_001 } }, true],
    ['is to be probed', { block: { reason: 'failing', openAtMs: 999 } }, false],
  ])('of a destination that %s says whether it may be asked', (_name, change, shut) => {
    const state = { ...initialState, ...change };
    expect(isShut(standingOf(state, 1_000), { state, nowMs: 1_000 })).toBe(shut);
  });

  it('is shut while it is not known how the destination stands, and for a refusal that only this process knows of', () => {
    expect(isShut({ mode: 'blocked' }, { nowMs: 0 })).toBe(true);
    expect(isShut({ mode: 'blocked', reason: 'throttled' }, { state: initialState, nowMs: 1_000 })).toBe(true);
  });
});
