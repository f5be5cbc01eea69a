import { beforeEach, describe, expect, it } from '@jest/globals';
import { type BacklogSource, unreadSince } from './backlog.js';

/** Ends of the topic's partitions, commits by group, and when the record at an offset was written. */
let ends: { partition: number; low: bigint; high: bigint }[];
let commits: Record<string, (bigint | undefined)[]>;
let asked: number;
const writtenMs = (partition: number, offset: bigint) => Number(offset) * 1_000 + partition;

const source: BacklogSource = {
  topicOffsets: async () => ends,
  groupOffsets: async (group, [topic = '']) => (commits[group] ?? []).map((offset, partition) => ({ topic, partition, offset })),
  recordTimes: async (positions) => {
    asked += 1;
    return positions.map((position) => ({ ...position, timestampMs: writtenMs(position.partition, position.offset) }));
  },
};

beforeEach(() => {
  ends = [0, 1].map((partition) => ({ partition, low: 0n, high: 10n }));
  commits = { 'crm-writer.crm': [10n, 10n], 'crm-writer.marketing': [10n, 10n] };
  asked = 0;
});

describe('the time since when a group has records to read', () => {
  it('is none where it has read everything, and nothing is asked for it', async () => {
    expect(await unreadSince(source, ['crm', 'marketing'])).toEqual(new Map());
    expect(asked).toBe(0);
  });

  it('is that of the oldest record over its partitions, each group for itself', async () => {
    commits['crm-writer.crm'] = [7n, 4n];
    expect(await unreadSince(source, ['crm', 'marketing'])).toEqual(new Map([['crm', new Date(4_001)]]));
  });

  it('begins at the first record that is kept where retention or nothing at all was committed before', async () => {
    ends = [
      { partition: 0, low: 5n, high: 10n },
      { partition: 1, low: 6n, high: 10n },
    ];
    commits['crm-writer.crm'] = [2n, undefined];
    expect(await unreadSince(source, ['crm'])).toEqual(new Map([['crm', new Date(5_000)]]));
  });

  it('is none where what is left was removed meanwhile', async () => {
    commits['crm-writer.crm'] = [7n, 10n];
    expect(await unreadSince({ ...source, recordTimes: async () => [] }, ['crm'])).toEqual(new Map());
  });
});
