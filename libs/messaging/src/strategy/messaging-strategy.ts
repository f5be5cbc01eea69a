import { type CustomTransportStrategy, Server } from '@nestjs/microservices';
import type { EventDescriptor } from '#contracts';
import type { Logger, ReadinessCheck } from '#runtime';
import type { GroupConsumer } from '../consumer/group-consumer.js';
import type { ConsumedRecord } from '../consumer/record.js';
import type { KafkaPort } from '../kafka/ports.js';

/** The decoding half of the codec. */
export interface EventDecoder {
  /** @throws DecodeError, or RegistryUnavailable when the schema of an unknown id cannot be asked for. */
  decode<E>(event: EventDescriptor<E>, bytes: Buffer | null): Promise<E> | E;
}

/** Binds one handler pattern to one consumer group. */
export interface Subscription {
  group: string;
  /** Pattern of the @EventPattern handler that gets the records. */
  pattern: string;
  topics: readonly string[];
  /** Retry tiers among this group's topics; also subscribed. */
  tierTopics?: readonly string[];
  event: EventDescriptor<unknown>;
  /** False: the record is settled without being decoded. Default: every record is wanted. */
  wants?(record: ConsumedRecord): boolean;
  maxUnsettled?: number;
}

export interface MessagingStrategyOptions {
  kafka: KafkaPort;
  codec: EventDecoder;
  subscriptions: readonly Subscription[];
  sessionTimeoutMs: number;
  commitEveryMs?: number;
  logger: Logger;
}

/**
 * Nest transport: ordinary @EventPattern methods that get `Received<E>[]` and `ReceivedContext`. A handler that throws (or whose Observable
 * fails) commits nothing: its group starts again from the committed offset after a growing pause, red meanwhile.
 */
export class MessagingStrategy extends Server implements CustomTransportStrategy {
  constructor(_options: MessagingStrategyOptions) {
    super();
    throw new Error('not implemented');
  }

  /** The consumer of a group, e.g. to pause it. @throws when no subscription names the group. */
  consumer(_group: string): GroupConsumer {
    throw new Error('not implemented');
  }

  /** One check per group. */
  get readiness(): ReadinessCheck[] {
    throw new Error('not implemented');
  }

  listen(_callback: (error?: unknown) => void): void {
    throw new Error('not implemented');
  }

  close(): Promise<void> {
    throw new Error('not implemented');
  }

  on(): never {
    throw new Error('This transport has no events of its own');
  }

  unwrap<T>(): T {
    throw new Error('not implemented');
  }
}
