import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { groups, retryTopic, topics } from '#contracts';
import { createLogger } from '#runtime';
import { testInfra, uniqueName } from '#testkit';
import { createKafka } from '../kafka/create-kafka.js';
import type { AdminPort, KafkaPort } from '../kafka/ports.js';
import { applyTopics, verifyTopics } from './topics.js';

jest.setTimeout(60_000);

let kafka: KafkaPort;
let admin: AdminPort;

beforeAll(async () => {
  kafka = createKafka({
    brokers: testInfra().kafkaBrokers.split(','),
    clientId: 'topics-spec',
    logger: createLogger('topics-spec', 'silent'),
  });
  admin = await kafka.admin();
});
afterAll(() => kafka.close());

/** The main topics are shared with other tests, which may have made them otherwise. */
const about =
  (destination: string) =>
  ({ name }: { name: string }) =>
    name.includes(destination);

describe('applying topics', () => {
  it('creates what is missing and commits the earliest offset, so that a record written before the first join is not skipped', async () => {
    const destination = uniqueName('crm');
    const group = groups.crmWriter(destination);
    const tier = retryTopic(topics.leadAccepted, group, '15s');
    await admin.createTopics([{ topic: tier, partitions: 1, replication: 1 }]);
    const producer = await kafka.producer();
    await producer.send([{ topic: tier, key: null, value: Buffer.from('early') }]);

    await expect(verifyTopics({ admin, destinations: [destination], groups: [group] })).rejects.toThrow(
      /does not exist[\s\S]*no committed offset/,
    );
    const report = await applyTopics({ admin, destinations: [destination], replication: 1 });
    expect(report.created).toContain(`${topics.leadAccepted}.${group}.replay`);
    expect(report.created).not.toContain(tier);
    expect(report.offsets).toContainEqual({ group, topic: tier, partitions: [0] });
    expect(report.problems.filter(about(destination))).toEqual([]);
    expect(await admin.groupOffsets(group, [tier])).toEqual([{ topic: tier, partition: 0, offset: 0n }]);
  });

  it('can be repeated, moves no committed offset, and satisfies the services', async () => {
    const destination = uniqueName('crm');
    const group = groups.crmWriter(destination);
    await applyTopics({ admin, destinations: [destination], replication: 1 });
    const tier = retryTopic(topics.leadAccepted, group, '1m');
    const producer = await kafka.producer();
    await producer.send([{ topic: tier, key: null, value: Buffer.from('a') }]);
    await admin.setGroupOffsets(group, [{ topic: tier, partition: 0, offset: 1n }]);
    const again = await applyTopics({ admin, destinations: [destination], replication: 1 });
    expect(again).toMatchObject({ created: [], offsets: [] });
    expect(again.problems.filter(about(destination))).toEqual([]);
    expect(await admin.groupOffsets(group, [tier])).toEqual([{ topic: tier, partition: 0, offset: 1n }]);
    await verifyTopics({ admin, destinations: [destination], groups: [group], produces: [topics.leadResolved] });
  });

  it('names everything that differs at once, at a service as well', async () => {
    const destination = uniqueName('crm');
    const group = groups.crmWriter(destination);
    const [short, compacted] = [retryTopic(topics.leadAccepted, group, '15s'), retryTopic(topics.leadAccepted, group, '5m')];
    await admin.createTopics([
      { topic: short, partitions: 1, replication: 1, config: { 'retention.ms': '60000' } },
      { topic: compacted, partitions: 1, replication: 1, config: { 'cleanup.policy': 'compact', 'retention.ms': '-1' } },
    ]);
    const { problems } = await applyTopics({ admin, destinations: [destination], replication: 1 });
    expect(problems.filter(about(destination)).map(({ name, problem }) => `${name} ${problem}`)).toEqual([
      `topic ${short} keeps records for 60000 ms`,
      `topic ${compacted} has cleanup.policy compact`,
    ]);
    await expect(verifyTopics({ admin, destinations: [destination], groups: [group] })).rejects.toMatchObject({
      problems: [{ path: `topic ${short}` }, { path: `topic ${compacted}` }],
    });
  });

  it('refuses a group that no destination has', async () => {
    await expect(verifyTopics({ admin, destinations: [], groups: ['crm-writer.gone'] })).rejects.toThrow('belongs to no destination');
  });
});
