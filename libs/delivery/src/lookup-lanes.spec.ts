import { describe, expect, it } from '@jest/globals';
import { LookupLanes } from './lookup-lanes.js';

/** Longer than any test: a round that comes by the clock never comes. */
const never = 2 ** 31 - 1;
const lanes = (own: string[] = ['slow', 'quick']): LookupLanes => new LookupLanes({ own, places: () => 2, shared: 4 });

async function isOver(pause: Promise<void>): Promise<boolean> {
  let over = false;
  void pause.then(() => (over = true));
  await new Promise((resolve) => setImmediate(resolve));
  return over;
}

/** Takes what there is room for of one destination. */
function fill(one: LookupLanes, destination: string): void {
  const room = one.roomOf(destination);
  for (let index = 0; index < room; index++) one.begin(destination);
  one.taken(room, room, destination);
}

describe('the places of lookups', () => {
  it('are of each destination its own: one that keeps all of its places leaves those of another', () => {
    const one = lanes();
    expect([...one.rooms([])]).toEqual([
      ['slow', 2],
      ['quick', 2],
    ]);
    fill(one, 'slow');
    expect([...one.rooms([])]).toEqual([['quick', 2]]);
    expect([...one.rooms(['quick'])]).toEqual([]);
    one.end('slow');
    expect([...one.rooms(['quick'])]).toEqual([['slow', 1]]);
  });

  it('are shared by all that have none, half of them at most by one', () => {
    const one = lanes([]);
    expect(one.sharedRoom()).toBe(4);
    one.begin('a');
    one.begin('a');
    expect(one.sharedRoom()).toBe(2);
    expect(one.sharedSkip()).toEqual(['a']);
    one.end('a');
    expect(one.sharedSkip()).toEqual([]);
  });

  it('have the next round begin when one of them is free, where the last one filled them', async () => {
    const one = lanes();
    fill(one, 'slow');
    fill(one, 'quick');
    const pause = one.pause(never);
    expect(await isOver(pause)).toBe(false);
    one.end('quick');
    expect(await isOver(pause)).toBe(true);
  });

  it('have it begin at once where one was freed while the round was still under way', async () => {
    const one = lanes();
    fill(one, 'quick');
    one.end('quick');
    expect(await isOver(one.pause(never))).toBe(true);
    expect(await isOver(one.pause(never))).toBe(false);
  });

  it('have it wait for the clock where nothing more was due, where the round failed and where nothing could be asked', async () => {
    const nothingDue = lanes();
    nothingDue.begin('quick');
    nothingDue.taken(1, 2, 'quick');
    const failed = lanes();
    fill(failed, 'quick');
    failed.failed();
    const resting = lanes();
    fill(resting, 'quick');
    resting.rest('quick', 60_000);
    for (const one of [nothingDue, failed, resting]) {
      one.end('quick');
      expect(await isOver(one.pause(never))).toBe(false);
    }
    expect([...resting.rooms([])]).toEqual([['slow', 2]]);
  });

  it('end their pause when they are woken', async () => {
    const one = lanes();
    const pause = one.pause(never);
    one.wake();
    expect(await isOver(pause)).toBe(true);
  });
});
