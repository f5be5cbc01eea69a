import { setTimeout as sleep } from 'node:timers/promises';
import Broker from 'kafkajs/src/broker/index.js';
import connectionPoolBuilder from 'kafkajs/src/cluster/connectionPoolBuilder.js';
import loggers from 'kafkajs/src/loggers/index.js';
import socketFactory from 'kafkajs/src/network/socketFactory.js';
import Encoder from 'kafkajs/src/protocol/encoder.js';
import apiKeys from 'kafkajs/src/protocol/requests/apiKeys.js';
import metadataResponse, { type RawMetadata } from 'kafkajs/src/protocol/requests/metadata/v6/response.js';
import { clientConfig } from './client.js';
import { isRetriable } from './client-errors.js';
import { BrokersUnavailable, UnsupportedBroker } from './errors.js';
import type { KafkaOptions } from './ports.js';

const groupCoordinator = 0;
const metadataVersion = 6;
const firstPauseMs = 100;
const maxPauseMs = 2_000;

/**
 * Connections to brokers for administration. kafkajs' own admin client loads the metadata of every topic of the cluster, so that one
 * unrelated topic without leader breaks it, and commits offsets by joining the group. This asks for what is named and nothing else.
 */
export class BrokerPool {
  private readonly brokers = new Map<string, Promise<Broker>>();
  private readonly logger: Record<string, unknown>;
  private readonly builder: ReturnType<typeof connectionPoolBuilder>;
  private readonly configured: number;
  private closed = false;

  constructor(options: KafkaOptions) {
    this.configured = options.brokers.length;
    const config = clientConfig(options);
    this.logger = loggers.createLogger({ level: config.logLevel, logCreator: config.logCreator });
    this.builder = connectionPoolBuilder({ socketFactory: socketFactory(), ...config, logger: this.logger });
  }

  /** Metadata of exactly these topics, with error codes instead of exceptions; of no topic when none is named. */
  async metadata(topics: readonly string[]): Promise<RawMetadata> {
    const broker = await this.any();
    const request = {
      apiKey: apiKeys.Metadata,
      apiVersion: metadataVersion,
      apiName: 'Metadata',
      encode: () => Promise.resolve(new Encoder().writeArray([...topics]).writeBoolean(false)),
    };
    return broker.connectionPool.send({ request, response: { decode: metadataResponse.decode, parse: (data) => Promise.resolve(data) } });
  }

  /** Any broker: one that is connected, else the first of the configured list that can be. It passes on what only the controller can do. */
  async any(): Promise<Broker> {
    for (const [where, broker] of this.brokers) {
      const connected = await broker.catch(() => undefined);
      if (connected?.isConnected()) return connected;
      this.brokers.delete(where);
    }
    for (let left = this.configured - 1; ; left -= 1) {
      try {
        return await this.connect();
      } catch (error) {
        if (left <= 0 || this.closed || error instanceof UnsupportedBroker) throw error;
      }
    }
  }

  at(host: string, port: number): Promise<Broker> {
    return this.brokers.get(`${host}:${port}`) ?? this.connect({ host, port });
  }

  async coordinator(group: string): Promise<Broker> {
    const broker = await this.any();
    const { coordinator } = await broker.findGroupCoordinator({ groupId: group, coordinatorType: groupCoordinator });
    return this.at(coordinator.host, coordinator.port);
  }

  /**
   * Repeats the work while Kafka says "not now" or does not answer, with growing pauses, for timeoutMs.
   * @throws BrokersUnavailable when the time is over; any other refusal at once, as it came.
   */
  async patiently<T>(what: string, timeoutMs: number, work: () => Promise<T>): Promise<T> {
    const giveUpAt = Date.now() + timeoutMs;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      try {
        return await work();
      } catch (error) {
        if (error instanceof UnsupportedBroker || !isRetriable(error)) throw error;
        if (this.closed || Date.now() + pauseMs > giveUpAt) throw new BrokersUnavailable(what, { cause: error });
      }
      await sleep(pauseMs);
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    const brokers = [...this.brokers.values()];
    this.brokers.clear();
    await Promise.all(brokers.map(async (broker) => (await broker.catch(() => undefined))?.disconnect().catch(() => undefined)));
  }

  private async connect(where?: { host: string; port: number }): Promise<Broker> {
    if (this.closed) throw new BrokersUnavailable('the connection is closed');
    const connectionPool = await this.builder.build(where);
    const key = `${connectionPool.host}:${connectionPool.port}`;
    const known = this.brokers.get(key);
    if (known !== undefined) return known;
    const broker = new Broker({ connectionPool, logger: this.logger, allowAutoTopicCreation: false });
    const connected = broker.connect().then(() => broker);
    this.brokers.set(key, connected);
    connected.catch(() => {
      this.brokers.delete(key);
      broker.disconnect().catch(() => undefined);
    });
    return connected;
  }
}
