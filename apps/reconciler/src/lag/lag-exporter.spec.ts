import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Logger, metrics, registry } from '#runtime';
import { LagExporter } from './lag-exporter.js';
import type { LagSource } from './read-lag.js';

const groups = [{ group: 'notifier', topics: ['lead.resolved', 'lead.resolved.notifier.retry.15s'] }];

function quietLogger(): Logger & { warn: jest.Mock } {
  const none = jest.fn();
  return {
    debug: none,
    info: none,
    warn: jest.fn(),
    error: none,
    fatal: none,
    unit: none,
    flush: none,
    child: () => quietLogger(),
  } as never;
}

/** One partition per topic: main is 3 behind, the tier has never been committed. */
function steadySource(): LagSource & { calls: number } {
  const source = {
    calls: 0,
    offsetsOf: (topics: readonly string[]) => Promise.resolve(topics.map((topic) => ({ topic, partition: 0, low: 2n, high: 10n }))),
    groupOffsets: (_group: string, topics: readonly string[]) => {
      source.calls += 1;
      return Promise.resolve(topics.map((topic, index) => ({ topic, partition: 0, offset: index === 0 ? 7n : undefined })));
    },
    describeGroups: (names: readonly string[]) =>
      Promise.resolve(names.map((group) => ({ group, state: 'Stable', members: [{ memberId: 'm', clientId: 'c' }] }))),
    recordTimes: (positions: readonly { topic: string; partition: number; offset: bigint }[]) =>
      Promise.resolve(positions.map((position) => ({ ...position, timestampMs: Date.now() - 60_000 }))),
  };
  return source;
}

const samples = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values ?? [];

describe('LagExporter', () => {
  beforeEach(() => {
    registry.resetMetrics();
  });

  it('publishes lag, offsets, members and age under the usual names and labels', async () => {
    await new LagExporter({ source: steadySource(), groups, logger: quietLogger() }).refresh();
    const main = { topic: 'lead.resolved', partition: 0 };
    expect(await samples('kafka_consumergroup_lag')).toEqual([
      expect.objectContaining({ value: 3, labels: { consumergroup: 'notifier', ...main } }),
      expect.objectContaining({ value: -1, labels: expect.objectContaining({ topic: 'lead.resolved.notifier.retry.15s' }) }),
    ]);
    expect(await samples('kafka_consumergroup_current_offset')).toMatchObject([{ value: 7 }, { value: -1 }]);
    expect(await samples('kafka_consumergroup_members')).toMatchObject([{ value: 1, labels: { consumergroup: 'notifier' } }]);
    expect(await samples('kafka_topic_partition_current_offset')).toMatchObject([{ value: 10, labels: main }, { value: 10 }]);
    expect(await samples('kafka_topic_partition_oldest_offset')).toMatchObject([{ value: 2, labels: main }, { value: 2 }]);
    const [age, ...others] = await samples('kafka_consumergroup_group_lag_seconds');
    expect(age).toMatchObject({ labels: { group: 'notifier', ...main } });
    expect(age?.value).toBeGreaterThanOrEqual(60);
    expect(others).toEqual([]);
  });

  it('reads once for scrapes that come together and keeps the reading a moment', async () => {
    const source = steadySource();
    const exporter = new LagExporter({ source, groups, logger: quietLogger(), keepMs: 60_000 });
    await Promise.all([exporter.refresh(), exporter.refresh(), exporter.refresh()]);
    await exporter.refresh();
    expect(source.calls).toBe(1);
  });

  it('reads nothing until asked', async () => {
    const source = steadySource();
    const exporter = new LagExporter({ source, groups, logger: quietLogger() });
    expect(source.calls).toBe(0);
    await exporter.refresh();
    expect(source.calls).toBe(1);
  });

  it('shows no lag instead of 0 or an old value when it cannot be read, says so once, and recovers', async () => {
    let broken = false;
    const logger = quietLogger();
    const steady = steadySource();
    const describeGroups: LagSource['describeGroups'] = (names) =>
      broken ? Promise.reject(new Error('away')) : steady.describeGroups(names);
    const source = { ...steady, describeGroups };
    const exporter = new LagExporter({ source, groups, logger, keepMs: 0 });
    await exporter.refresh();
    const readAt = (await metrics.lagExportedAt.get()).values;
    broken = true;
    await exporter.refresh();
    await exporter.refresh();
    expect(await samples('kafka_consumergroup_lag')).toEqual([]);
    expect(await samples('kafka_consumergroup_members')).toEqual([]);
    expect((await metrics.lagExportedAt.get()).values).toEqual(readAt);
    expect(await exporter.readiness.check()).toMatchObject({ ok: false });
    expect(logger.warn).toHaveBeenCalledTimes(1);
    broken = false;
    expect(await exporter.readiness.check()).toEqual({ ok: true });
    expect(await samples('kafka_consumergroup_lag')).toHaveLength(2);
  });

  it('gives up on a Kafka that does not answer, and asks it only once meanwhile', async () => {
    const describeGroups = jest.fn(() => new Promise<never>(() => undefined));
    const source = { ...steadySource(), describeGroups };
    const exporter = new LagExporter({ source, groups, logger: quietLogger(), keepMs: 0, timeoutMs: 5 });
    await exporter.refresh();
    expect(await exporter.readiness.check()).toMatchObject({ ok: false, detail: expect.stringContaining('LagReadTimeout') });
    expect(describeGroups).toHaveBeenCalledTimes(1);
  });
});
