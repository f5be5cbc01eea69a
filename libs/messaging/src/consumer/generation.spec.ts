import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { headers } from '#contracts';
import type { FetchedBatch } from '../kafka/ports.js';
import { Generation, type GenerationOptions } from './generation.js';
import type { Receipt } from './record.js';

const limits = { unsettled: 10, uncommitted: 40, held: 6 };
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function fixture(change: Partial<GenerationOptions> = {}) {
  const state = {
    got: [] as Receipt[],
    fetching: new Map<string, boolean>(),
    paused: new Set<string>(),
    thrown: [] as unknown[],
    heartbeats: 0,
    next: new Map<string, number>(),
  };
  const generation = new Generation({
    assignment: { main: [0, 1], tier: [0] },
    tierTopics: new Set(['tier']),
    limits,
    isPaused: (topic) => state.paused.has(topic),
    isDeliberate: (topic) => state.paused.has(topic),
    setFetching: (topic, partition, on) => state.fetching.set(`${topic}/${partition}`, on),
    onReceipts: (receipts) => void state.got.push(...receipts),
    onMoved: () => undefined,
    onThrow: (error) => void state.thrown.push(error),
    onReleased: () => undefined,
    onTook: () => undefined,
    ...change,
  });
  const fetch = (topic: string, partition: number, count: number, notBefore?: number): Promise<void> => {
    const place = `${topic}/${partition}`;
    const first = state.next.get(place) ?? 100;
    state.next.set(place, first + count);
    const header = notBefore === undefined ? {} : { [headers.notBefore]: Buffer.from(String(notBefore)) };
    const batch: FetchedBatch = {
      topic,
      partition,
      records: Array.from({ length: count }, (_, n) => ({
        offset: String(first + n),
        key: null,
        value: null,
        timestamp: '0',
        headers: header,
      })),
      nextOffset: first + count,
      highWatermark: first + count,
      commit: () => Promise.resolve(),
      heartbeat: () => {
        state.heartbeats += 1;
        return Promise.resolve();
      },
    };
    return generation.take(batch);
  };
  return { generation, state, fetch };
}

const place = ({ record }: Receipt): string => `${record.topic}/${record.partition}/${record.offset}`;

describe('Generation', () => {
  it('keeps order, window and watermark over any mix of fetches, settles, pauses and redeliveries', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('fetch' as const), partition: fc.nat({ max: 1 }), count: fc.integer({ min: 1, max: 25 }) }),
      fc.record({ kind: fc.constantFrom('settle' as const, 'settle' as const, 'again' as const), pick: fc.nat() }),
      fc.record({ kind: fc.constant('pause' as const), on: fc.boolean() }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
        const { generation, state, fetch } = fixture({ limits: { ...limits, uncommitted: 1_000 } });
        const settled = new Set<string>();
        const open = (): Receipt[] => state.got.filter((receipt) => !settled.has(place(receipt)));
        for (const one of steps) {
          if (one.kind === 'fetch') void fetch('main', one.partition, one.count);
          if (one.kind === 'pause') {
            if (one.on) state.paused.add('main');
            else state.paused.delete('main');
            generation.pausesChanged();
          }
          const choice = 'pick' in one ? open()[one.pick % Math.max(1, open().length)] : undefined;
          if (one.kind === 'again') choice?.redeliverIn(0);
          if (one.kind === 'settle' && choice !== undefined) {
            settled.add(place(choice));
            choice.settle();
            choice.settle();
          }
          await tick();
          expect(generation.unsettled).toBeLessThanOrEqual(limits.unsettled + 1);
          for (const { topic, partition, offset } of generation.dueCommit()?.offsets ?? []) {
            for (let at = 100n; at < offset; at += 1n) expect(settled.has(`${topic}/${partition}/${at}`)).toBe(true);
          }
        }
        for (const partition of [0, 1]) {
          const first = [
            ...new Set(state.got.filter(({ record }) => record.partition === partition).map(({ record }) => Number(record.offset))),
          ];
          expect(first).toEqual([...first].sort((a, b) => a - b));
        }
        generation.end();
      }),
      { numRuns: 50 },
    );
  });

  it('lets a fetch wait while its records wait for room, and the next one come when they have gone', async () => {
    const { state, fetch, generation } = fixture();
    let done = false;
    const taken = fetch('main', 0, 25).then(() => {
      done = true;
    });
    await tick();
    expect(state.got).toHaveLength(10);
    expect(done).toBe(false);
    for (let at = 0; at < state.got.length; at += 1) {
      state.got[at]?.settle();
      await tick();
    }
    await taken;
    expect(state.got).toHaveLength(25);
    expect(generation.dueCommit()?.offsets).toEqual([{ topic: 'main', partition: 0, offset: 125n }]);
  });

  it('pauses the partitions with a backlog when nothing settles, so that tiers are fetched on, and resumes them later', async () => {
    const { state, fetch, generation } = fixture();
    await fetch('main', 0, 40);
    expect(state.fetching.get('main/0')).toBe(false);
    expect(state.fetching.get('main/1')).toBe(true);
    await fetch('tier', 0, 3);
    expect(state.got.filter(({ record }) => record.topic === 'tier')).toHaveLength(3);
    for (let at = 0; at < state.got.length && state.fetching.get('main/0') === false; at += 1) {
      state.got[at]?.settle();
      await tick();
    }
    expect(state.fetching.get('main/0')).toBe(true);
    generation.end();
  });

  it('stops fetching a partition whose one slow record holds too much uncommitted, and no other', async () => {
    const { state, fetch, generation } = fixture({ onReceipts: (receipts) => receipts.forEach(settleAllButFirst) });
    function settleAllButFirst(receipt: Receipt): void {
      state.got.push(receipt);
      if (receipt.record.offset !== 100n) receipt.settle();
    }
    await fetch('main', 0, 45);
    await tick();
    expect(state.got).toHaveLength(45);
    expect([state.fetching.get('main/0'), state.fetching.get('main/1')]).toEqual([false, true]);
    expect(generation.dueCommit()).toBeUndefined();
    state.got[0]?.settle();
    await tick();
    expect(state.fetching.get('main/0')).toBe(true);
    expect(generation.dueCommit()?.offsets).toEqual([{ topic: 'main', partition: 0, offset: 145n }]);
    generation.end();
  });

  it("goes on fetching the tiers while main topics' records wait that were given back, and stops where those of the tiers are too many", async () => {
    const { state, fetch, generation } = fixture();
    await fetch('main', 0, 20);
    for (let at = 0; at < state.got.length && at < 20; at += 1) {
      state.got[at]?.redeliverIn(60_000);
      await tick();
    }
    expect(state.got).toHaveLength(20);
    await fetch('tier', 0, 5, Date.now() + 60_000);
    await tick();
    expect([state.fetching.get('main/0'), state.fetching.get('tier/0')]).toEqual([true, true]);
    await fetch('tier', 0, 1, Date.now() + 60_000);
    await tick();
    expect([state.fetching.get('main/0'), state.fetching.get('tier/0')]).toEqual([true, false]);
    generation.end();
  });

  it('tells how long some records took', async () => {
    const times: number[] = [];
    const { state, fetch, generation } = fixture({
      onTook: (durationMs) => void times.push(durationMs),
      limits: { ...limits, unsettled: 100 },
    });
    await fetch('main', 0, 64);
    await new Promise((resolve) => setTimeout(resolve, 20));
    for (const receipt of state.got) receipt.settle();
    expect(times).toHaveLength(4);
    for (const time of times) expect(time).toBeGreaterThanOrEqual(15);
    generation.end();
  });

  it('voids receipts when it ends: settling does nothing and nothing is committed', async () => {
    const { state, fetch, generation } = fixture();
    await fetch('main', 0, 3);
    generation.end();
    for (const receipt of state.got) receipt.settle();
    for (const receipt of state.got) receipt.redeliverIn(0);
    await tick();
    expect(state.got.every(({ stale }) => stale)).toBe(true);
    expect(generation.dueCommit()).toBeUndefined();
    expect([generation.unsettled, generation.movable]).toEqual([0, 0]);
  });

  it('hands out nothing after a handler threw', async () => {
    const { state, fetch } = fixture({
      onReceipts: () => {
        throw new Error('a bug');
      },
    });
    await fetch('main', 0, 3);
    await fetch('main', 1, 3);
    expect(state.thrown).toEqual([new Error('a bug')]);
  });

  it('moves on over a gap in the log, and begins again where the log did', async () => {
    const { state, fetch, generation } = fixture();
    await fetch('main', 0, 2);
    for (const receipt of state.got) receipt.settle();
    generation.reset('main', 0, 500);
    await tick();
    expect(generation.dueCommit()?.offsets).toEqual([{ topic: 'main', partition: 0, offset: 500n }]);
    const [before] = state.got;
    generation.reset('main', 0, 3);
    expect(before?.stale).toBe(true);
    state.next.set('main/0', 3);
    await fetch('main', 0, 1);
    expect(state.got.at(-1)?.record.offset).toBe(3n);
    generation.end();
  });

  it('counts only what should move: not what is paused by decision or waits for its time', async () => {
    const { state, fetch, generation } = fixture();
    await fetch('tier', 0, 2, Date.now() + 60_000);
    expect(generation.movable).toBe(0);
    await fetch('main', 0, 3);
    expect(generation.movable).toBe(3);
    state.paused.add('main');
    generation.pausesChanged();
    expect([generation.movable, generation.unsettled]).toEqual([0, 3]);
    expect(generation.positions().map(({ topic }) => topic)).toEqual(['tier']);
    generation.end();
  });

  describe('with records that wait for their time', () => {
    beforeEach(() => {
      jest.useFakeTimers({ now: 1_000_000, doNotFake: ['setImmediate', 'queueMicrotask', 'nextTick'] });
    });
    afterEach(() => {
      jest.useRealTimers();
    });

    it('stops fetching the tier when too many wait, and starts again when half have gone', async () => {
      const { state, fetch, generation } = fixture();
      await fetch('tier', 0, 6, 1_000_500);
      expect([state.fetching.get('tier/0'), state.fetching.get('main/0')]).toEqual([false, true]);
      expect(state.got).toHaveLength(0);
      jest.advanceTimersByTime(500);
      expect(state.got).toHaveLength(6);
      for (const receipt of state.got) receipt.settle();
      await tick();
      expect(state.fetching.get('tier/0')).toBe(true);
      generation.end();
    });

    it('holds due records while the topic is paused and hands them out afterwards', async () => {
      const { state, fetch, generation } = fixture();
      await fetch('tier', 0, 1, 1_000_500);
      state.paused.add('tier');
      generation.pausesChanged();
      jest.advanceTimersByTime(5_000);
      expect(state.got).toHaveLength(0);
      state.paused.delete('tier');
      generation.pausesChanged();
      expect(state.got).toHaveLength(1);
      generation.end();
    });
  });
});
