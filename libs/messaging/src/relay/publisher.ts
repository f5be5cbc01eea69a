import { crashPoint, type Logger, metrics } from '#runtime';
import { ProduceRefused } from '../kafka/errors.js';
import type { OutgoingRecord } from '../kafka/ports.js';
import type { PartitionQueue } from './partition-queue.js';
import { hasUsableHeaders, type QueuedRow } from './queued-row.js';
import { TopicQueues } from './topic-queues.js';

export interface PublisherOptions {
  send(records: readonly OutgoingRecord[]): Promise<void>;
  /** Number of partitions of a topic. Rejects like `send`. */
  partitions(topic: string): Promise<number>;
  /** False while another relay may have taken over: nothing new goes out then. */
  mayPublish(): boolean;
  /** Rows were settled, or a topic changed its state. */
  onProgress(): void;
  logger: Logger;
}

/** Rows that are done with and must leave the table. */
export interface Settled {
  published: QueuedRow[];
  parked: { row: QueuedRow; reason: string }[];
}

/**
 * Rows in memory on their way to Kafka: one request in flight per partition, all partitions that are ready in one request. What fails is
 * narrowed down: a request of many partitions is repeated one by one, a batch with a bad record is halved until only that record is parked,
 * and any other failure stops its topic for a growing while. Nothing here touches the database.
 */
export class Publisher {
  private readonly topics = new Map<string, TopicQueues>();
  /** Every row in a queue, in a request, or settled and not yet forgotten. */
  private readonly held = new Map<string, QueuedRow>();
  private lanes: ReadonlySet<number> = new Set();
  private settled: Settled = { published: [], parked: [] };
  private readonly retries = new Set<NodeJS.Timeout>();
  private bytes = 0;
  private requests = 0;
  private closed = false;

  constructor(private readonly options: PublisherOptions) {}

  get heldRows(): number {
    return this.held.size;
  }

  get heldBytes(): number {
    return this.bytes;
  }

  get inFlight(): number {
    return this.requests;
  }

  holds(id: string): boolean {
    return this.held.has(id);
  }

  holdsLane(lane: number): boolean {
    for (const row of this.held.values()) if (row.lane === lane) return true;
    return false;
  }

  /** Only rows of these lanes are sent from now on; waiting rows of others are let go. */
  setLanes(lanes: ReadonlySet<number>): void {
    this.lanes = lanes;
    for (const topic of this.topics.values()) this.dropForeign(topic);
  }

  /** Topics whose rows need not be read. */
  get stopped(): string[] {
    return this.inState('stopped');
  }

  /** Topics that got through again: the caller reads from the beginning, and says so by `open`. */
  get reopening(): string[] {
    return this.inState('reopening');
  }

  open(): void {
    for (const topic of this.topics.values()) if (topic.state === 'reopening') topic.state = 'open';
  }

  /** Takes rows in table order. Rows held already, of another's lane or of a topic that is not open are ignored: they are read again later. */
  add(rows: readonly QueuedRow[]): void {
    for (const row of rows) {
      if (this.held.has(row.id) || !this.lanes.has(row.lane)) continue;
      const topic = this.topicOf(row.topic);
      if (topic.state !== 'open') continue;
      this.held.set(row.id, row);
      this.bytes += row.bytes;
      if (hasUsableHeaders(row.headers)) topic.add(row);
      else this.park(row, 'INVALID_HEADERS');
    }
    this.pump();
  }

  /** What was settled since the last call; still held until `forget`. */
  takeSettled(): Settled {
    const settled = this.settled;
    this.settled = { published: [], parked: [] };
    return settled;
  }

  /** What could not be taken out of the table yet. */
  settleAgain({ published, parked }: Settled): void {
    this.settled.published.unshift(...published);
    this.settled.parked.unshift(...parked);
  }

  forget(rows: readonly QueuedRow[]): void {
    for (const row of rows) if (this.held.delete(row.id)) this.bytes -= row.bytes;
  }

  /** Sends whatever may be sent now. */
  pump(): void {
    if (this.closed || !this.options.mayPublish()) return;
    const nowMs = performance.now();
    const together: PartitionQueue[] = [];
    for (const topic of this.topics.values()) {
      if (topic.isPausing(nowMs)) continue;
      if (topic.needsCount(nowMs) && (topic.isRouted || topic.state === 'stopped' || !topic.isIdle)) void this.ask(topic);
      if (!topic.isRouted) continue;
      const ready = topic.ready();
      if (topic.state === 'stopped') this.probe(topic, ready);
      else together.push(...ready.filter((queue) => !queue.alone || void this.publish([queue])));
    }
    if (together.length > 0) void this.publish(together);
  }

  /** Nothing more is sent. */
  close(): void {
    this.closed = true;
    for (const retry of this.retries) clearTimeout(retry);
  }

  /** One batch tries whether a stopped topic works again. With no batch left, the rows in the table must be the try. */
  private probe(topic: TopicQueues, ready: readonly PartitionQueue[]): void {
    if (topic.hasRequestOut) return;
    if (ready[0] !== undefined) void this.publish([ready[0]]);
    else {
      topic.state = 'reopening';
      this.options.onProgress();
    }
  }

  private async publish(queues: readonly PartitionQueue[]): Promise<void> {
    const batches = queues.map((queue) => queue.take());
    const records = batches.flatMap((rows, index) => rows.map((row) => record(row, queues[index]?.partition)));
    const end = metrics.relayPublish.startTimer();
    this.requests += 1;
    try {
      await this.options.send(records);
      crashPoint('published');
      for (const [index, queue] of queues.entries()) this.passed(queue, batches[index] ?? []);
    } catch (error) {
      this.failed(queues, error);
    } finally {
      this.requests -= 1;
      end();
    }
    this.options.onProgress();
    this.pump();
  }

  private passed(queue: PartitionQueue, rows: readonly QueuedRow[]): void {
    queue.passed();
    const topic = this.topicOf(queue.topic);
    topic.passed();
    if (topic.alarmed) this.reportWorking(topic);
    for (const row of rows) this.settled.published.push(row);
    metrics.relayPublished.inc({ topic: queue.topic }, rows.length);
  }

  /** Of a request with several partitions it is not known which one failed: each is sent again on its own. */
  private failed(queues: readonly PartitionQueue[], error: unknown): void {
    const reason = reasonOf(error);
    for (const queue of queues) {
      metrics.relayRefusals.inc({ topic: queue.topic, reason });
      const topic = this.topicOf(queue.topic);
      if (queues.length === 1 && error instanceof ProduceRefused && error.recordFault) {
        const culprit = queue.refused();
        if (culprit !== undefined) this.park(culprit, error.code);
      } else {
        const kept = new Set(queue.failed());
        // One that was out when its topic stopped says nothing new.
        if (queues.length === 1 && !topic.isPausing(performance.now())) this.stop(topic, { kept, reason, error });
      }
      this.dropForeign(topic);
    }
  }

  private stop(topic: TopicQueues, { kept, reason, error }: { kept: ReadonlySet<QueuedRow>; reason: string; error: unknown }): void {
    // Said once; the metric goes on saying it.
    const level = topic.alarmed ? 'debug' : 'error';
    topic.alarmed = true;
    const pauseMs = topic.stop(performance.now());
    const fields = { topic: topic.topic, reason, retry_in_ms: Math.round(pauseMs), err: error };
    this.options.logger[level](fields, 'publishing to a topic is stopped');
    metrics.relayStopped.set({ topic: topic.topic }, 1);
    this.forget(topic.drop((row) => !kept.has(row)));
    this.wakeIn(pauseMs);
  }

  private async ask(topic: TopicQueues): Promise<void> {
    topic.asking = true;
    const wasUnknown = !topic.isRouted;
    try {
      topic.route(await this.options.partitions(topic.topic), performance.now());
      // Rows let go while the topic was unknown must be read first.
      if (wasUnknown && topic.state === 'stopped') topic.state = 'reopening';
      this.options.onProgress();
    } catch (error) {
      const reason = reasonOf(error);
      metrics.relayRefusals.inc({ topic: topic.topic, reason });
      // A count that is merely old goes on being used.
      if (wasUnknown) this.stop(topic, { kept: new Set(), reason, error });
    } finally {
      topic.asking = false;
    }
    this.pump();
  }

  private park(row: QueuedRow, reason: string): void {
    this.settled.parked.push({ row, reason });
    this.options.onProgress();
  }

  private reportWorking(queues: TopicQueues): void {
    const { topic } = queues;
    queues.alarmed = false;
    this.options.logger.info({ topic }, 'publishing to a topic works again');
    metrics.relayStopped.set({ topic }, 0);
  }

  private dropForeign(topic: TopicQueues): void {
    this.forget(topic.drop((row) => !this.lanes.has(row.lane)));
  }

  /** A timer can fire a little early. */
  private wakeIn(pauseMs: number): void {
    const retry = setTimeout(() => {
      this.retries.delete(retry);
      this.pump();
    }, pauseMs + 5);
    this.retries.add(retry);
  }

  private inState(state: TopicQueues['state']): string[] {
    return [...this.topics.values()].filter((topic) => topic.state === state).map(({ topic }) => topic);
  }

  private topicOf(name: string): TopicQueues {
    let topic = this.topics.get(name);
    if (topic === undefined) {
      topic = new TopicQueues(name);
      this.topics.set(name, topic);
    }
    return topic;
  }
}

const record = ({ topic, key, value, headers }: QueuedRow, partition: number | undefined): OutgoingRecord => ({
  topic,
  key,
  value,
  headers,
  partition,
});

/** Kafka's name of the refusal, or the kind of error. */
function reasonOf(error: unknown): string {
  if (error instanceof ProduceRefused) return error.code;
  return error instanceof Error ? error.name : 'unknown';
}
