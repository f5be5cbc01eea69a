import { readFileSync } from 'node:fs';
import { ConfigError } from '#runtime';
import type { KafkaOptions } from './ports.js';

/** The variables of `kafkaEnv`. */
export interface KafkaVariables {
  KAFKA_BROKERS: readonly string[];
  KAFKA_SSL_CA_FILE?: string;
  KAFKA_SASL_MECHANISM?: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  KAFKA_SASL_USERNAME?: string;
  KAFKA_SASL_PASSWORD?: string;
}

/**
 * How to reach Kafka, from a process's environment. TLS where a CA file is named, SASL where a mechanism is.
 * @throws ConfigError for a CA file that cannot be read and for SASL without user name or password
 */
export function kafkaSettings(env: KafkaVariables): Pick<KafkaOptions, 'brokers' | 'ssl' | 'sasl'> {
  return { brokers: env.KAFKA_BROKERS, ssl: tls(env.KAFKA_SSL_CA_FILE), sasl: sasl(env) };
}

/** Check of those variables before anything connects; the brokers may be wrong. What it gives throws like {@link kafkaSettings}. */
export const kafkaCheck = (env: Partial<KafkaVariables>) => (): void => void kafkaSettings({ KAFKA_BROKERS: [], ...env });

function tls(file: string | undefined): KafkaOptions['ssl'] {
  if (file === undefined) return undefined;
  try {
    return { ca: [readFileSync(file, 'utf8')] };
  } catch {
    const fix = 'Name a PEM file that this process can read';
    throw new ConfigError([{ path: 'KAFKA_SSL_CA_FILE', problem: 'cannot be read', fix }]);
  }
}

function sasl(env: KafkaVariables): KafkaOptions['sasl'] {
  const { KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: username, KAFKA_SASL_PASSWORD: password } = env;
  if (mechanism === undefined) return undefined;
  if (username !== undefined && password !== undefined) return { mechanism, username, password };
  const missing = (path: string, value: string | undefined) =>
    value === undefined ? [{ path, problem: 'is missing', fix: 'Set it, or leave KAFKA_SASL_MECHANISM unset' }] : [];
  throw new ConfigError([...missing('KAFKA_SASL_USERNAME', username), ...missing('KAFKA_SASL_PASSWORD', password)]);
}
