import { topology } from '#contracts';
import { createKafka, type KafkaVariables, kafkaSettings, registeredSchemas, verifyTopics } from '#messaging';
import { createLogger } from '#runtime';
import { schemasDir } from '../commands/schemas.js';
import { type Finding, fine, looked, wrong } from './finding.js';

/** Brokers, topics with their settings, and the first offsets of every group. */
export function checkKafka(variables: KafkaVariables, destinations: readonly string[]): Promise<Finding[]> {
  return looked('kafka', 'Start the brokers, or correct KAFKA_BROKERS', async () => {
    const kafka = createKafka({ ...kafkaSettings(variables), clientId: 'leadctl-doctor', logger: createLogger('leadctl', 'silent') });
    try {
      const admin = await kafka.admin();
      const brokers = fine('kafka', `${await admin.brokerCount()} brokers answer`);
      const { topics, groups } = topology(destinations);
      const names = { groups: groups.map(({ group }) => group), produces: topics.map(({ name }) => name) };
      const found = await looked('topics', 'Run `leadctl topics apply`', async () => {
        await verifyTopics({ admin, destinations, ...names });
        return [fine('topics', `${topics.length} topics and ${groups.length} groups are as they should be`)];
      });
      return [brokers, ...found];
    } finally {
      await kafka.close();
    }
  });
}

/** Every schema of this release is registered, under the level that keeps out what does not fit. */
export function checkRegistry(registryUrl: string | undefined): Promise<Finding[]> {
  if (registryUrl === undefined) return Promise.resolve([wrong('registry', 'SCHEMA_REGISTRY_URL is not set', 'Set it')]);
  return looked('registry', 'Start the schema registry, or correct SCHEMA_REGISTRY_URL', async () => {
    const problems = await registeredSchemas({ registryUrl, dir: schemasDir });
    if (problems.length === 0) return [fine('registry', 'answers, and knows every schema')];
    return problems.map(({ name, problem, fix }) => wrong(`registry: ${name}`, problem, fix));
  });
}
