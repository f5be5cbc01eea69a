import kafkajs, { type Kafka, type KafkaConfig, logLevel } from 'kafkajs';
import { clientLogCreator } from './client-log.js';
import type { KafkaOptions } from './ports.js';

const connectTimeoutMs = 5_000;
const requestTimeoutMs = 30_000;
/**
 * So long before a SASL session ends, the next request shows the account again. kafkajs' own 10 s stop a client for good where the broker's
 * `connections.max.reauth.ms` is as short: every request would do it, and a broker refuses that within one second of the last.
 */
const reauthenticateBeforeMs = 5_000;

/** Connection settings of this process, in kafkajs' words. */
export function clientConfig(options: KafkaOptions): KafkaConfig {
  const { brokers, clientId, ssl, sasl, logger } = options;
  return {
    brokers: [...brokers],
    clientId,
    ssl: ssl === undefined ? undefined : typeof ssl === 'boolean' ? ssl : { ca: ssl.ca },
    sasl: sasl as KafkaConfig['sasl'],
    reauthenticationThreshold: reauthenticateBeforeMs,
    connectionTimeout: options.connectTimeoutMs ?? connectTimeoutMs,
    requestTimeout: options.requestTimeoutMs ?? requestTimeoutMs,
    ...(options.openSocket === undefined ? {} : { socketFactory: options.openSocket as KafkaConfig['socketFactory'] }),
    logLevel: logLevel.INFO,
    logCreator: clientLogCreator(logger) as KafkaConfig['logCreator'],
  };
}

/** One kafkajs client per port: clients of one group share committed offsets inside kafkajs, which two members must not. */
export function newClient(options: KafkaOptions, overrides: Partial<KafkaConfig> = {}): Kafka {
  return new kafkajs.Kafka({ ...clientConfig(options), ...overrides });
}
