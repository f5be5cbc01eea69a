import { describe, expect, it } from '@jest/globals';
import OffsetManager from 'kafkajs/src/consumer/offsetManager/index.js';
import { onOffsetReset, resetOffsetsInTheOpen } from './offset-reset.js';

/** An offset manager of one partition whose log begins at 40; notes what it commits. */
function manager(resolved: Record<number, string>) {
  const commits: unknown[] = [];
  const offsets: Record<string, Record<number, string>> = { leads: { 0: '10' } };
  const created = Object.assign(Object.create(OffsetManager.prototype) as OffsetManager, {
    memberId: 'm-1',
    groupId: 'g',
    generationId: 3,
    topics: ['leads'],
    resolvedOffsets: { leads: resolved },
    topicConfigurations: { leads: { fromBeginning: true } },
    committedOffsets: () => offsets,
    getCoordinator: () => Promise.resolve({ offsetCommit: (commit: unknown) => Promise.resolve(commits.push(commit)) }),
    cluster: {
      defaultOffset: () => -2,
      fetchTopicsOffset: () => Promise.resolve([{ topic: 'leads', partitions: [{ partition: 0, offset: '40' }] }]),
    },
  });
  return { manager: created, commits, offsets };
}

describe('a fetch position outside the log', () => {
  it('is still the fault that the patch is for: kafkajs commits -2 by itself', async () => {
    const { manager: original, commits } = manager({});
    await original.setDefaultOffset({ topic: 'leads', partition: 0 });
    expect(commits).toMatchObject([{ topics: [{ partitions: [{ partition: 0, offset: -2 }] }] }]);
  });

  it('moves to the start of the log, commits nothing and is told', async () => {
    resetOffsetsInTheOpen();
    const told: unknown[] = [];
    const forget = onOffsetReset((reset) => told.push(reset));
    const { manager: patched, commits, offsets } = manager({ 0: '30' });
    await patched.setDefaultOffset({ topic: 'leads', partition: 0 });
    forget();
    expect(commits).toEqual([]);
    expect(offsets).toEqual({ leads: { 0: '40' } });
    expect(patched.resolvedOffsets).toEqual({ leads: {} });
    expect(told).toEqual([{ memberId: 'm-1', topic: 'leads', partition: 0, from: 30n, to: 40n }]);
  });

  it('counts from the committed offset when nothing was fetched yet', async () => {
    resetOffsetsInTheOpen();
    const told: unknown[] = [];
    const forget = onOffsetReset((reset) => told.push(reset));
    await manager({}).manager.setDefaultOffset({ topic: 'leads', partition: 0 });
    forget();
    expect(told).toMatchObject([{ from: 10n, to: 40n }]);
  });
});
