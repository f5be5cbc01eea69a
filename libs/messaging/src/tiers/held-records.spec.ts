import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { HeldRecords, type Verdict } from './held-records.js';

describe('HeldRecords', () => {
  beforeEach(() => {
    jest.useFakeTimers({ now: 1_000_000 });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const held = (verdict: (item: string, chosen: number) => Verdict = () => 'take') => {
    const released: string[] = [];
    const records = new HeldRecords<string>({ verdict, release: (due) => released.push(...due.map(({ item }) => item)) });
    return { records, released };
  };

  it('releases each record at its time, earliest first, and none before', () => {
    const { records, released } = held();
    records.add(1_000_300, 'late');
    records.add(1_000_100, 'early');
    jest.advanceTimersByTime(99);
    expect(released).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(released).toEqual(['early']);
    jest.advanceTimersByTime(200);
    expect(released).toEqual(['early', 'late']);
    expect(records.size).toBe(0);
  });

  it('asks the clock again when the timer fires early', () => {
    let now = 1_000_000;
    const released: string[] = [];
    const records = new HeldRecords<string>({
      verdict: () => 'take',
      release: (due) => released.push(...due.map(({ item }) => item)),
      now: () => now,
    });
    records.add(1_000_100, 'x');
    now = 1_000_099;
    jest.advanceTimersByTime(100);
    expect(released).toEqual([]);
    now = 1_000_100;
    jest.advanceTimersByTime(1);
    expect(released).toEqual(['x']);
  });

  it('releases a record that became due between the look at it and the setting of the timer', () => {
    let now = 1_000_000;
    const released: string[] = [];
    // The clock goes on by a millisecond with every look at it.
    const records = new HeldRecords<string>({
      verdict: () => 'take',
      release: (due) => released.push(...due.map(({ item }) => item)),
      now: () => now++,
    });
    records.add(1_000_002, 'x');
    records.wake();
    jest.advanceTimersByTime(1);
    expect(released).toEqual(['x']);
  });

  it('keeps due records back while there is no room and releases them on the next wake', () => {
    let room = 1;
    const { records, released } = held((_item, chosen) => (chosen < room ? 'take' : 'full'));
    for (const item of ['a', 'b', 'c']) records.add(1_000_010, item);
    jest.advanceTimersByTime(10);
    expect(released).toEqual(['a']);
    room = 2;
    records.wake();
    expect(released.sort()).toEqual(['a', 'b', 'c']);
  });

  it('lets others pass a record whose topic is paused, and releases it after the pause', () => {
    let paused = true;
    const { records, released } = held((item) => (item === 'held' && paused ? 'paused' : 'take'));
    records.add(1_000_010, 'held');
    records.add(1_000_020, 'free');
    jest.advanceTimersByTime(20);
    expect(released).toEqual(['free']);
    expect(records.size).toBe(1);
    paused = false;
    records.resume();
    expect(released).toEqual(['free', 'held']);
  });

  it('wakes in time although the wall clock was set back', () => {
    let now = 1_000_000;
    const released: string[] = [];
    const records = new HeldRecords<string>({ verdict: () => 'take', release: () => released.push('x'), now: () => now });
    records.add(1_100_000, 'x');
    now = 1_100_000;
    jest.advanceTimersByTime(10_000);
    expect(released).toEqual(['x']);
  });

  it('releases nothing after its assignment ended', () => {
    const { records, released } = held();
    records.add(1_000_010, 'x');
    records.end();
    jest.advanceTimersByTime(1_000);
    records.wake();
    expect(released).toEqual([]);
    expect(jest.getTimerCount()).toBe(0);
  });
});
