import type { KafkaOptions, KafkaPort } from './ports.js';

/** The Kafka port over kafkajs 2.2.4. Connects lazily: the first producer, consumer or admin does. */
export function createKafka(_options: KafkaOptions): KafkaPort {
  throw new Error('not implemented');
}
