import { type CustomTransportStrategy, type MessageHandler, Server } from '@nestjs/microservices';
import { isObservable, lastValueFrom } from 'rxjs';
import type { EventDescriptor } from '#contracts';
import type { Logger, ReadinessCheck } from '#runtime';
import { createGroupConsumer, type GroupConsumer } from '../consumer/group-consumer.js';
import type { ConsumedRecord } from '../consumer/record.js';
import type { KafkaPort } from '../kafka/ports.js';
import { handlerProblems } from './handler-problems.js';
import { type EventDecoder, Reader } from './reader.js';
import type { Received, ReceivedContext } from './received.js';

/** Binds one handler pattern to one consumer group. */
export interface Subscription {
  group: string;
  /** Pattern of the @EventPattern handler that gets the records. */
  pattern: string;
  topics: readonly string[];
  /** Retry tiers among this group's topics; also subscribed. */
  tierTopics?: readonly string[];
  event: EventDescriptor<unknown>;
  /** Told from the headers alone: a record that is not wanted is settled without being decoded. Default: every record is wanted. */
  wants?(record: ConsumedRecord): boolean;
  maxUnsettled?: number;
}

export interface MessagingStrategyOptions {
  kafka: KafkaPort;
  codec: EventDecoder;
  subscriptions: readonly Subscription[];
  sessionTimeoutMs: number;
  /** Default 200. */
  commitEveryMs?: number;
  /** How long a stop waits for work in hand. Default 10,000. */
  stopGraceMs?: number;
  logger: Logger;
}

interface Bound {
  subscription: Subscription;
  consumer: GroupConsumer;
}

/**
 * Nest transport: ordinary @EventPattern methods that get `Received<E>[]` and `ReceivedContext`. A handler that throws (or whose promise
 * or Observable fails) commits nothing: its group starts again from the committed offset after a growing pause, red meanwhile. Controllers
 * carry `@UseFilters(OriginalErrors)`, so that what they threw is what is logged.
 */
export class MessagingStrategy extends Server implements CustomTransportStrategy {
  /** What a handler throws comes to us; Nest need not log it. */
  override readonly propagatesEventHandlerErrors = true;
  private readonly bound: Map<string, Bound>;

  constructor(private readonly options: MessagingStrategyOptions) {
    super();
    this.bound = new Map(options.subscriptions.map((subscription) => [subscription.group, this.bind(subscription)]));
  }

  /** The consumer of a group, e.g. to pause it. @throws when no subscription names the group. */
  consumer(group: string): GroupConsumer {
    const bound = this.bound.get(group);
    if (bound === undefined) throw new Error(`No subscription for the group ${group}`);
    return bound.consumer;
  }

  /** One check per group. */
  get readiness(): ReadinessCheck[] {
    return [...this.bound.values()].map(({ consumer }) => consumer.readiness);
  }

  /** Refuses to start when handlers and subscriptions do not match one to one; else starts every group. */
  listen(callback: (error?: unknown) => void): void {
    const problems = handlerProblems(this.options.subscriptions, this.messageHandlers);
    const started = problems.length > 0 ? Promise.reject(new Error(problems.join('; '))) : this.startAll();
    started.then(() => callback(), callback);
  }

  /** Stops every group: no more fetching, work in hand settles, commit, leave. */
  async close(): Promise<void> {
    await Promise.all([...this.bound.values()].map(({ consumer }) => consumer.stop(this.options.stopGraceMs)));
  }

  on(): never {
    throw new Error('This transport has no events of its own');
  }

  unwrap<T>(): T {
    return [...this.bound.values()].map(({ consumer }) => consumer) as T;
  }

  private async startAll(): Promise<void> {
    await Promise.all([...this.bound.values()].map(({ consumer }) => consumer.start()));
  }

  private bind(subscription: Subscription): Bound {
    const { kafka, codec, sessionTimeoutMs, commitEveryMs, logger } = this.options;
    const { group, pattern, topics, tierTopics = [], event, wants, maxUnsettled } = subscription;
    const context: ReceivedContext = { group, pattern };
    const consumer = createGroupConsumer({
      kafka,
      group,
      topics: [...new Set([...topics, ...tierTopics])],
      tierTopics,
      sessionTimeoutMs,
      commitEveryMs,
      maxUnsettled,
      onReceipts: (receipts) => reader.take(receipts),
      logger,
    });
    const onReceived = (received: Received<unknown>[]): void => {
      this.handle(received, context).catch((error: unknown) => consumer.fail(error));
    };
    const reader = new Reader({ codec, event, wants, consumer, onReceived, logger });
    return { subscription, consumer };
  }

  private async handle(received: Received<unknown>[], context: ReceivedContext): Promise<void> {
    const handler = this.messageHandlers.get(context.pattern) as MessageHandler<Received<unknown>[], ReceivedContext>;
    const result: unknown = await handler(received, context);
    if (isObservable(result)) await lastValueFrom(result, { defaultValue: undefined });
  }
}
