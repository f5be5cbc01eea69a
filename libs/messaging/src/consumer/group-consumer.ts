import type { Logger, ReadinessCheck } from '#runtime';
import type { KafkaPort } from '../kafka/ports.js';
import type { Receipt } from './record.js';

export interface GroupConsumerOptions {
  kafka: KafkaPort;
  group: string;
  topics: readonly string[];
  /** Topics of `topics` whose records wait for their `ld-not-before`. */
  tierTopics?: readonly string[];
  sessionTimeoutMs: number;
  /** Receipts handed out and not settled, main and tiers apart. Default 2,000. */
  maxUnsettled?: number;
  /** Default 200. */
  commitEveryMs?: number;
  /** Gets records in offset order per partition. A throw is treated like `fail`. */
  onReceipts(receipts: Receipt[]): void;
  logger: Logger;
}

export interface GroupConsumer {
  start(): Promise<void>;
  /** Stops fetching and handing out (all topics, or the named) until the same reason is resumed. Reasons add up; survives rebalances. */
  pause(reason: string, topics?: readonly string[]): void;
  resume(reason: string, topics?: readonly string[]): void;
  /** The reasons in force. */
  paused(): string[];
  /** Gives up the running generation and starts again from the committed offsets after a growing pause; readiness is red meanwhile. */
  fail(error: unknown): void;
  /** Stops fetching, waits for settles up to graceMs (default 10,000), commits, leaves the group. */
  stop(graceMs?: number): Promise<void>;
  readonly readiness: ReadinessCheck;
}

/** A member of a consumer group that commits its own contiguous watermark. */
export function createGroupConsumer(_options: GroupConsumerOptions): GroupConsumer {
  throw new Error('not implemented');
}
