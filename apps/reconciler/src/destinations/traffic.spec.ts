import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { groups, topics } from '#contracts';
import { BrokersUnavailable } from '#messaging';
import { InternalUnavailable } from '#runtime';
import { liveTraffic } from './traffic.js';

type State = Record<string, unknown>;
type Partition = [low: bigint, committed: bigint | undefined, high: bigint];

/** crm-writer and Kafka as the test tells them. */
function open({ states = [], partitions = [[0n, 0n, 0n]] }: { states?: State[]; partitions?: Partition[] } = {}) {
  const asked = { owner: 0, groups: [] as string[] };
  const away = { owner: false, kafka: false };
  const owner = {
    post: async <T>(): Promise<T> => {
      asked.owner += 1;
      if (away.owner) throw new InternalUnavailable('away');
      return { items: states } as T;
    },
    close: async () => {},
  };
  const admin = {
    groupOffsets: async (group: string, [topic = '']: readonly string[]) => {
      asked.groups.push(`${group} ${topic}`);
      if (away.kafka) throw new BrokersUnavailable('away');
      return partitions.map(([, offset], partition) => ({ topic, partition, offset }));
    },
    offsetsOf: async ([topic = '']: readonly string[]) => partitions.map(([low, , high], partition) => ({ topic, partition, low, high })),
  };
  return { traffic: liveTraffic({ owner, admin }), asked, away };
}
const of = (state: State): State => ({ destination: 'crm', mode: 'flowing', ...state });

describe('live traffic', () => {
  it.each<[string, string | undefined, State[]]>([
    ['is held', 'held', [of({ hold: { by: 'ada' } })]],
    ['is held while it fails', 'held', [of({ hold: { by: 'ada' }, mode: 'blocked', reason: 'failing' })]],
    ['asked for a pause', 'throttled', [of({ mode: 'blocked', reason: 'throttled' })]],
    ['fails', 'blocked', [of({ mode: 'blocked', reason: 'failing' })]],
    ['refuses our credentials', 'blocked', [of({ mode: 'blocked', reason: 'auth' })]],
    ['flows', undefined, [of({})]],
    ['has never had a lead', undefined, []],
    ['flows while another is held', undefined, [of({}), of({ destination: 'erp', hold: { by: 'ada' } })]],
  ])('of a destination that %s: a comparison waits for %s', async (_what, reason, states) => {
    expect(await open({ states }).traffic.busy('crm')).toBe(reason);
  });

  it.each<[string, string | undefined, Partition[]]>([
    ['500 records', undefined, [[0n, 100n, 600n]]],
    ['501 records', 'backlog', [[0n, 100n, 601n]]],
    [
      '500 records of two partitions',
      undefined,
      [
        [0n, 0n, 250n],
        [7n, 7n, 257n],
      ],
    ],
    [
      '501 records of two partitions',
      'backlog',
      [
        [0n, 0n, 250n],
        [7n, 7n, 258n],
      ],
    ],
    ['500 records of which none was ever read', undefined, [[50n, undefined, 550n]]],
    ['501 records of which none was ever read', 'backlog', [[50n, undefined, 551n]]],
    ['500 records, older ones being deleted', undefined, [[1_000n, 3n, 1_500n]]],
    ['no record of a topic that was made anew', undefined, [[0n, 900n, 10n]]],
  ])('with %s unread: a comparison waits for %s', async (_what, reason, partitions) => {
    const { traffic, asked } = open({ partitions });
    expect(await traffic.busy('crm')).toBe(reason);
    expect(asked.groups).toEqual([`${groups.crmWriter('crm')} ${topics.leadAccepted}`]);
  });

  it.each(['owner', 'kafka'] as const)("that cannot be read, %s being away, is nobody's word: asked again at once", async (who) => {
    const { traffic, away } = open();
    away[who] = true;
    await expect(traffic.busy('crm')).rejects.toThrow('away');
    away[who] = false;
    expect(await traffic.busy('crm')).toBeUndefined();
  });

  describe('within a second', () => {
    let nowMs = 1_000;
    beforeEach(() => {
      nowMs = 1_000;
      jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    });
    afterEach(() => void jest.restoreAllMocks());

    it('is read once for each destination', async () => {
      const { traffic, asked } = open();
      await Promise.all([traffic.busy('crm'), traffic.busy('crm'), traffic.busy('erp')]);
      nowMs += 999;
      await traffic.busy('crm');
      expect(asked.owner).toBe(2);
      nowMs += 1;
      await traffic.busy('crm');
      expect(asked.owner).toBe(3);
    });
  });
});
