import type { Database, Logger, ReadinessCheck } from '#runtime';
import type { KafkaPort } from '../kafka/ports.js';
import type { Notifications } from './notifications.js';
import { OutboxRelay } from './outbox-relay.js';

export interface RelayOptions {
  /** The service's database: the relay opens one connection of its own with the same settings, and publishes the table `outbox` there. */
  db: Database;
  kafka: KafkaPort;
  logger: Logger;
  /** Default 1,000: longest time a row waits when no wake-up came through, and how often relays look who else is there. */
  pollMs?: number;
  /** Default 15,000: the server ends a session that says nothing for this long, so that the lanes of a process that hangs are free then. */
  silenceMs?: number;
  /** Default 20,000: a sick server may take its time for one statement; a lost one must be noticed. */
  statementTimeoutMs?: number;
}

/**
 * Publishes outbox rows: in order per key, at least once, each row deleted once Kafka has acknowledged it. Several relays of one service
 * share the lanes. Survives the loss of Kafka, of PostgreSQL and of its own connection.
 */
export interface Relay {
  /** Begins in the background; resolves at once even where Kafka or PostgreSQL is away. */
  start(): Promise<void>;
  /** Call after a commit that wrote rows. Cheap; any number of calls becomes one read. */
  wake(): void;
  /** Lets what is in flight finish (at most 10 s), deletes what was acknowledged, gives the lanes back. */
  stop(): Promise<void>;
  /** What others tell on channels of the database: the relay's connection listens for the whole process. */
  readonly notifications: Notifications;
  /** Red while PostgreSQL is out of reach. Kafka being away is no reason: rows wait. */
  readonly readiness: ReadinessCheck;
}

export function createRelay(options: RelayOptions): Relay {
  return new OutboxRelay(options);
}
