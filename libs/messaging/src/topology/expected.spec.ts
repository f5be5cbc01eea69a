import { describe, expect, it } from '@jest/globals';
import { topology } from '#contracts';
import { type TopicState, topicConfig, topicProblems } from './expected.js';

const day = 86_400_000;
const spec = { name: 'lead.accepted', partitions: 2, retentionMs: 8 * day };
const personal = { name: 'leads', partitions: 2, retentionMs: day };

function state({
  partitions = 2,
  replicas = 3,
  config = {},
}: {
  partitions?: number;
  replicas?: number;
  config?: Record<string, string>;
}): TopicState {
  return {
    description: {
      topic: 'x',
      partitions: Array.from({ length: partitions }, (_, partition) => ({
        partition,
        leader: 1,
        replicas: Array.from({ length: replicas }, (_unused, broker) => broker),
        isr: [1],
      })),
    },
    config: { 'cleanup.policy': 'delete', 'retention.ms': String(8 * day), 'min.insync.replicas': '2', ...config },
  };
}

const problems = (of: TopicState, replication?: number) => topicProblems(spec, of, replication).map(({ problem }) => problem);

describe('an existing topic', () => {
  it('is fine as created, with more partitions, and where references are kept for longer or for ever', () => {
    expect(problems(state({}), 3)).toEqual([]);
    expect(problems(state({ partitions: 9, config: { 'retention.ms': '-1' } }), 3)).toEqual([]);
  });

  it('is told everything at once', () => {
    const config = { 'cleanup.policy': 'compact', 'retention.ms': '1000', 'min.insync.replicas': '1' };
    expect(problems(state({ partitions: 1, replicas: 1, config }), 3)).toEqual([
      'has 1 partitions instead of 2',
      'has cleanup.policy compact',
      'keeps records for 1000 ms',
      'has 1 replicas instead of 3',
      'has min.insync.replicas 1',
    ]);
  });

  it('is not asked about replicas at the start of a service, which does not know their number', () => {
    expect(problems(state({ replicas: 1, config: { 'min.insync.replicas': '1' } }))).toEqual([]);
  });

  it('with personal data may keep less and never more', () => {
    const kept = (ms: number) => topicProblems(personal, state({ config: { 'retention.ms': String(ms) } })).map(({ problem }) => problem);
    expect(kept(day)).toEqual([]);
    expect(kept(1_000)).toEqual([]);
    expect(kept(day + 1)).toEqual([`keeps records for ${day + 1} ms`]);
    expect(kept(-1)).toEqual(['keeps records for -1 ms']);
  });

  it('that is missing has that one problem', () => {
    expect(problems({ description: undefined, config: {} }, 3)).toEqual(['does not exist']);
  });
});

describe('a new topic', () => {
  it('passes its own check', () => {
    for (const topic of topology(['crm', 'marketing']).topics) {
      for (const replication of [1, 3]) {
        const config = topicConfig(topic, replication);
        const created = state({ partitions: topic.partitions, replicas: replication, config });
        expect(topicProblems(topic, created, replication)).toEqual([]);
      }
    }
  });

  it('finishes a segment often enough that records go about when their time is over', () => {
    const { 'retention.ms': retentionMs, 'segment.ms': segmentMs } = topicConfig(personal, 1);
    expect(Number(segmentMs)).toBeLessThanOrEqual(Number(retentionMs) / 24);
  });
});
