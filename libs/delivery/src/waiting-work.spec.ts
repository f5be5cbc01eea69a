import { describe, expect, it } from '@jest/globals';
import { WaitingWork } from './waiting-work.js';
import type { Work } from './work.js';

const work = (name: string, more: Partial<Work<string>> = {}) => ({ event: name, replayed: false, leasedAt: 0, ...more }) as Work<string>;
const names = (works: readonly (Work<string> | undefined)[]) => works.map((one) => one?.event);

describe('what an engine has in hand', () => {
  const filled = () => {
    const waiting = new WaitingWork<string>();
    waiting.add(work('replayed', { replayed: true }));
    for (const name of ['a', 'b', 'c']) waiting.add(work(name));
    waiting.add(work('claimed', { leasedAt: 7 }));
    return waiting;
  };

  it('is taken in order, what was claimed before first, what is replayed last and only where it may be', () => {
    const waiting = filled();
    expect(names(waiting.take(1, { replays: true }))).toEqual(['claimed']);
    expect(names(waiting.take(2, { replays: true }))).toEqual(['a', 'b']);
    expect(names(waiting.take(2, { replays: true }))).toEqual(['c']);
    expect(names(waiting.take(2, { replays: false }))).toEqual([]);
    expect(names(waiting.take(2, { replays: true }))).toEqual(['replayed']);
    expect(waiting.all()).toEqual([]);
  });

  it('gives one at a time to whoever probes', () => {
    const waiting = filled();
    expect(names(Array.from({ length: 6 }, () => waiting.takeOne()))).toEqual(['claimed', 'a', 'b', 'c', 'replayed', undefined]);
  });

  it('may be added to while what was taken is at work', () => {
    const waiting = filled();
    const taken = waiting.take(10, { replays: true });
    waiting.add(work('later', { leasedAt: 7 }));
    expect(names(taken)).toEqual(['claimed', 'a', 'b', 'c']);
    expect(names(waiting.take(10, { replays: true }))).toEqual(['later']);
  });
});
