import { registerCodecs } from '../compression/codecs.js';
import { BrokerPool } from './broker-pool.js';
import { BrokersUnavailable } from './errors.js';
import { KafkajsAdmin } from './kafkajs-admin.js';
import { createConsumerPort } from './kafkajs-consumer.js';
import { KafkajsProducer } from './kafkajs-producer.js';
import { applyPatches } from './patches/apply-patches.js';
import type { AdminPort, ConsumerPort, ConsumerPortOptions, KafkaOptions, KafkaPort, ProducerPort } from './ports.js';

/**
 * The Kafka port over kafkajs 2.2.4. Nothing connects before the first producer, consumer or admin is asked for.
 * @throws Error when another kafkajs version is installed.
 */
export function createKafka(options: KafkaOptions): KafkaPort {
  applyPatches();
  registerCodecs();
  const open = new Set<() => Promise<void>>();
  const tracked = <P>(port: P, close: () => Promise<void>): P => {
    open.add(close);
    return port;
  };
  return {
    clientId: options.clientId,
    producer: async (): Promise<ProducerPort> => {
      const producer = new KafkajsProducer(options);
      await producer.connect().catch((error: unknown) => {
        // A service whose broker is away still starts: what it emits waits in its outbox.
        if (!(error instanceof BrokersUnavailable)) throw error;
        options.logger.warn({ reason: error.message }, 'No broker answers yet; sends will connect');
      });
      return tracked(producer, () => producer.close());
    },
    consumer: (consumer: ConsumerPortOptions): ConsumerPort => createConsumerPort(options, consumer),
    admin: (): Promise<AdminPort> => {
      const admin = new KafkajsAdmin(new BrokerPool(options));
      return Promise.resolve(tracked(admin, () => admin.close()));
    },
    close: async () => {
      await Promise.all([...open].map((close) => close()));
      open.clear();
    },
  };
}
