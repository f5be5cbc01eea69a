import type { Connections, InfraPart } from '../infra/embedded.js';
import { kafkaAnswers } from '../infra/kafka.js';
import { databaseAnswers } from '../infra/postgres.js';
import { registryAnswers } from '../infra/registry.js';

/** True when the part does its work now. */
export function infraAnswers(part: InfraPart, { kafkaBrokers, schemaRegistry, databaseUrl }: Connections): Promise<boolean> {
  if (part === 'registry') return registryAnswers(schemaRegistry);
  if (part === 'postgres') return databaseAnswers(databaseUrl);
  const [host, port] = kafkaBrokers.split(',')[0]?.split(':') ?? [];
  return kafkaAnswers(Number(port), host);
}
