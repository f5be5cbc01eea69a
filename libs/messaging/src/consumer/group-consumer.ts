import { setTimeout as sleep } from 'node:timers/promises';
import { type Logger, metrics, type ReadinessCheck, type ReadinessResult } from '#runtime';
import { whyDown } from '../kafka/client-errors.js';
import type { ConsumerPort, FetchedBatch, KafkaPort } from '../kafka/ports.js';
import { Committer } from './committer.js';
import { Generation } from './generation.js';
import { LagProbe } from './lag-probe.js';
import { PauseBook, type Place } from './pause-book.js';
import { Progress, type Situation } from './progress.js';
import type { Receipt } from './record.js';
import { Supervisor } from './supervisor.js';

export interface GroupConsumerOptions {
  kafka: KafkaPort;
  group: string;
  topics: readonly string[];
  /** Topics of `topics` whose records wait for their `ld-not-before`. */
  tierTopics?: readonly string[];
  sessionTimeoutMs: number;
  /** Receipts handed out and not settled, main and tiers apart. Default 2,000. */
  maxUnsettled?: number;
  /** Records of one partition from the first unsettled one on, i.e. what a crash makes it read again. Default 50,000. */
  maxUncommitted?: number;
  /** Tier records waiting for their time. Default 10,000. */
  maxHeld?: number;
  /** Default 200. */
  commitEveryMs?: number;
  /** Longest wait of one fetch. Default 1,000. */
  maxWaitMs?: number;
  /** How soon new partitions of a topic are noticed. Default 60,000. */
  metadataMaxAgeMs?: number;
  /** Gets records in offset order per partition. A throw is treated like `fail`. */
  onReceipts(receipts: Receipt[]): void;
  logger: Logger;
}

export interface GroupConsumer {
  readonly group: string;
  /** Resolves when this member has joined, or its first try failed; it goes on trying. @throws UnsupportedBroker */
  start(): Promise<void>;
  /** Stops fetching and handing out (all topics, or the named places) until the same reason is resumed. Reasons add up and survive rebalances. */
  pause(reason: string, where?: readonly Place[]): void;
  resume(reason: string, where?: readonly Place[]): void;
  /** The reasons in force. */
  paused(): string[];
  /** Gives up the running generation and starts again from the committed offsets after a growing pause; readiness is red meanwhile. */
  fail(error: unknown): void;
  /** Stops fetching, waits for settles up to graceMs (default 10,000), commits, leaves the group. */
  stop(graceMs?: number): Promise<void>;
  readonly readiness: ReadinessCheck;
}

/** A member of a consumer group that commits its own contiguous watermark. */
export function createGroupConsumer(options: GroupConsumerOptions): GroupConsumer {
  return new KafkaGroupConsumer(options);
}

const defaults = { maxUnsettled: 2_000, maxUncommitted: 50_000, maxHeld: 10_000, commitEveryMs: 200, graceMs: 10_000 };
/** A fetch loop that stands still for so long (a rebalance takes at most 60 s) is given up and built again. */
const hungMs = 120_000;
/** Longer than an answer of the lag probe is kept, and short enough that readiness is red within 15 s of the first record that waits. */
const watchEveryMs = 2_500;
const tierOf = (topic: string): string => topic.slice(topic.lastIndexOf('.') + 1);

class KafkaGroupConsumer implements GroupConsumer {
  readonly group: string;
  readonly readiness: ReadinessCheck;
  private readonly book: PauseBook;
  private readonly supervisor: Supervisor;
  private readonly committer: Committer;
  private readonly progress = new Progress();
  private readonly probe: LagProbe;
  private readonly tierTopics: ReadonlySet<string>;
  private state: Situation['state'] = 'starting';
  private member: ConsumerPort | undefined;
  private generation: Generation | undefined;
  private watch: NodeJS.Timeout | undefined;
  private stopping = false;
  private downBecause: string | undefined;
  private commitFailureSaidMs = 0;

  constructor(private readonly options: GroupConsumerOptions) {
    this.group = options.group;
    // From 0 on, so that the first one counts as an increase.
    metrics.consumerRestarts.inc({ group: options.group }, 0);
    for (const topic of options.topics) metrics.consumerGapRecords.inc({ group: options.group, topic }, 0);
    this.tierTopics = new Set(options.tierTopics);
    this.book = new PauseBook(options.topics);
    this.probe = new LagProbe(options.kafka, options.group);
    this.supervisor = new Supervisor({
      build: (ended) => this.build(ended),
      onDown: (error, retryInMs) => this.down(error, retryInMs),
    });
    this.committer = new Committer({
      everyMs: options.commitEveryMs ?? defaults.commitEveryMs,
      due: () => this.generation?.dueCommit(),
      onFailure: (err) => this.commitFailed(err),
    });
    this.readiness = { name: `consumer ${options.group}`, check: () => this.check() };
  }

  async start(): Promise<void> {
    this.watch = setInterval(() => {
      if (this.member !== undefined && this.progress.sinceFetchMs > hungMs) this.fail(new Error('The fetch loop stands still'));
      void this.look().catch(() => undefined);
    }, watchEveryMs).unref();
    await this.supervisor.start();
  }

  pause(reason: string, where?: readonly Place[]): void {
    this.book.pause(reason, where);
    this.pausesChanged(reason, true);
  }

  resume(reason: string, where?: readonly Place[]): void {
    this.book.resume(reason, where);
    this.pausesChanged(reason, this.book.reasons().includes(reason));
  }

  paused(): string[] {
    return this.book.reasons();
  }

  fail(error: unknown): void {
    this.supervisor.fail(error);
  }

  async stop(graceMs = defaults.graceMs): Promise<void> {
    this.stopping = true;
    clearInterval(this.watch);
    this.generation?.close();
    const giveUpAt = Date.now() + graceMs;
    while ((this.generation?.unsettled ?? 0) > 0 && Date.now() < giveUpAt) await sleep(10);
    await this.committer.flush();
    this.committer.end();
    this.generation?.end();
    this.state = 'stopped';
    await this.supervisor.stop();
    await this.probe.close();
  }

  private build(ended: (error: Error) => void): ConsumerPort {
    const { kafka, group, topics, sessionTimeoutMs, maxWaitMs, metadataMaxAgeMs } = this.options;
    const current = (): boolean => this.member === member;
    const member = kafka.consumer({
      group,
      topics,
      sessionTimeoutMs,
      maxWaitMs,
      metadataMaxAgeMs,
      on: {
        assigned: (assignment) => current() && this.begin(member, assignment),
        revoking: () => void this.committer.flush(),
        batch: (batch) => (current() ? this.take(batch) : Promise.resolve()),
        offsetReset: (reset) => current() && this.reset(reset),
        crashed: ended,
        alive: () => current() && this.progress.fetched(),
      },
    });
    this.member = member;
    return member;
  }

  /** A new assignment; whatever was known of the one before is void. */
  private begin(member: ConsumerPort, assignment: Record<string, number[]>): void {
    const { group, logger, onReceipts, maxUnsettled, maxUncommitted, maxHeld } = this.options;
    this.generation?.end();
    this.generation = new Generation({
      assignment,
      tierTopics: this.tierTopics,
      limits: {
        unsettled: maxUnsettled ?? defaults.maxUnsettled,
        uncommitted: maxUncommitted ?? defaults.maxUncommitted,
        held: maxHeld ?? defaults.maxHeld,
      },
      isPaused: (topic, partition) => this.book.isPaused(topic, partition),
      isDeliberate: (topic, partition) => this.book.isDeliberate(topic, partition),
      setFetching: (topic, partition, on) => (on ? member.resume(topic, [partition]) : member.pause(topic, [partition])),
      onReceipts,
      onMoved: () => this.moved(),
      onThrow: (error) => this.fail(error),
      onTook: (durationMs) => metrics.processDuration.observe({ group }, durationMs / 1_000),
      onReleased: (topic, lateMs) => metrics.retryOverdue.observe({ tier: tierOf(topic) }, lateMs / 1_000),
    });
    if (this.stopping) this.generation.close();
    this.state = 'running';
    this.progress.fetched();
    this.progress.moved();
    const partitions = Object.values(assignment).reduce((sum, list) => sum + list.length, 0);
    logger.info({ group, count: partitions }, 'Joined the consumer group; count is the number of partitions');
  }

  private async take(batch: FetchedBatch): Promise<void> {
    metrics.messagesConsumed.inc({ group: this.group, topic: batch.topic }, batch.records.length);
    const { generation } = this;
    const room = generation?.take(batch);
    this.progress.waits(generation?.movable ?? 0);
    await room;
  }

  private moved(): void {
    this.progress.moved(this.generation?.movable);
    metrics.consumerUnsettled.set({ group: this.group }, this.generation?.unsettled ?? 0);
    this.committer.schedule();
  }

  private reset({ topic, partition, from, to }: { topic: string; partition: number; from: bigint; to: bigint }): void {
    const { group, logger } = this.options;
    const lost = to > from ? to - from : 0n;
    metrics.consumerGapRecords.inc({ group, topic }, Number(lost));
    logger.error(
      { group, topic, partition, offset: to, count: lost },
      'The log no longer holds the next record; reading on from its start',
    );
    this.generation?.reset(topic, partition, Number(to));
  }

  private down(err: unknown, retryInMs: number): void {
    this.state = 'down';
    this.member = undefined;
    this.generation?.end();
    this.generation = undefined;
    metrics.consumerRestarts.inc({ group: this.group });
    this.downBecause = whyDown(err);
    const fields = { group: this.group, err, reason: this.downBecause, retry_in_ms: retryInMs };
    this.options.logger.error(fields, 'The consumer ended; building the next one');
  }

  /** Said once in a while: the next commit covers this one, and a rebalance makes many fail. */
  private commitFailed(err: unknown): void {
    if (Date.now() - this.commitFailureSaidMs < 10_000) return;
    this.commitFailureSaidMs = Date.now();
    this.options.logger.info({ group: this.group, err, reason: whyDown(err) }, 'A commit did not get through; the next one covers it');
  }

  private pausesChanged(reason: string, paused: boolean): void {
    metrics.consumerPaused.set({ group: this.group, reason }, paused ? 1 : 0);
    this.generation?.pausesChanged();
    this.progress.waits(this.generation?.movable ?? 0);
  }

  /**
   * Notes what waits without being told of: a tier record that came due, and records that are never fetched. Those only the broker knows of,
   * who is asked where nothing else waits and nothing moves.
   */
  private async look(): Promise<void> {
    const movable = this.generation?.movable ?? 0;
    if (movable > 0) this.progress.waits(movable);
    else if (!this.stopping) await this.check();
  }

  private async check(): Promise<ReadinessResult> {
    const positions = this.generation?.positions() ?? [];
    const quiet = this.progress.sinceMoveMs > 1_000;
    const lag = this.state === 'running' && quiet ? await this.probe.lag(positions) : undefined;
    const movable = this.generation?.movable ?? 0;
    const result = this.progress.check({ state: this.state, movable, lag }, positions.map(({ next }) => next).join());
    if (this.state === 'down') return { ...result, detail: `${result.detail}: ${this.downBecause}` };
    const reasons = this.paused().join(', ');
    return result.ok || reasons === '' ? result : { ...result, detail: `${result.detail}; paused: ${reasons}` };
  }
}
