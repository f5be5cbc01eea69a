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
  const admins = new SharedPool(options);
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
      const { pool, release } = admins.take();
      return Promise.resolve(tracked(new KafkajsAdmin(pool, release), release));
    },
    close: async () => {
      await Promise.all([...open].map((close) => close()));
      open.clear();
    },
  };
}

/** One set of connections for all administration of a process, open while anyone uses it. */
class SharedPool {
  private pool: BrokerPool | undefined;
  private users = 0;

  constructor(private readonly options: KafkaOptions) {}

  take(): { pool: BrokerPool; release: () => Promise<void> } {
    const pool = this.pool ?? new BrokerPool(this.options);
    this.pool = pool;
    this.users += 1;
    let released = false;
    const release = async (): Promise<void> => {
      if (released) return;
      released = true;
      this.users -= 1;
      if (this.users > 0) return;
      this.pool = undefined;
      await pool.close();
    };
    return { pool, release };
  }
}
