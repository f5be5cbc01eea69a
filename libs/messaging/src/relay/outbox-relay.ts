import { setTimeout as delay } from 'node:timers/promises';
import { crashPoint, type Logger, metrics, type ReadinessCheck } from '#runtime';
import { Lanes } from './lanes.js';
import { LateFloor } from './late-floor.js';
import { Channels } from './notifications.js';
import { OutboxSession, type SkippedRow } from './outbox-session.js';
import { Publisher } from './publisher.js';
import type { QueuedRow } from './queued-row.js';
import type { Relay, RelayOptions } from './relay.js';
import { RelayKafka } from './relay-kafka.js';
import { Signal } from './signal.js';

/** Rows and bytes in memory at most, and wanted per read. */
const maxHeldRows = 8_000;
const maxHeldBytes = 16 * 1024 * 1024;
const readRows = 2_000;
const readBytes = 4 * 1024 * 1024;
/** A stream of single rows is gathered for this long, so that it costs one read, one request and one delete per turn. */
const gatherMs = 10;
const notifyEveryMs = 50;
const statsEveryMs = 15_000;
/** Now and then everything is looked through, whatever the floor says. */
const fullLookEveryBeats = 60;
const stopWithinMs = 10_000;
const silentForMs = 30_000;
const longestReconnectMs = 5_000;

/** One loop: look who is there, delete what was published, read on, sleep until something happens. Sending goes on beside it. */
export class OutboxRelay implements Relay {
  private readonly logger: Logger;
  private readonly pollMs: number;
  private readonly silenceMs: number;
  /** How long after the sending of a beat the locks are surely held: the server waits longer before it ends the session. */
  private readonly leaseMs: number;
  private readonly kafka: RelayKafka;
  private readonly publisher: Publisher;
  private readonly lanes = new Lanes();
  private readonly signal = new Signal();
  readonly notifications = new Channels(() => this.signal.raise());
  private late = new LateFloor();
  private running: Promise<void> | undefined;
  private readonly stopping = new AbortController();
  private woken = true;
  private othersToWake = false;
  private leaseUntilMs = 0;
  private nextBeatMs = 0;
  private beats = 0;
  private lastBeatMs = Number.NEGATIVE_INFINITY;
  private notifiedAtMs = 0;
  private statsAtMs = Number.NEGATIVE_INFINITY;
  private nextLookMs = 0;
  private averageBytes = 512;

  constructor(private readonly options: RelayOptions) {
    this.logger = options.logger.child({ component: 'relay' });
    this.pollMs = options.pollMs ?? 1_000;
    this.silenceMs = options.silenceMs ?? 15_000;
    this.leaseMs = (this.silenceMs * 2) / 3;
    this.kafka = new RelayKafka(options.kafka);
    this.publisher = new Publisher({
      send: (records) => this.kafka.send(records),
      partitions: (topic) => this.kafka.partitions(topic),
      mayPublish: () => performance.now() < this.leaseUntilMs,
      onProgress: () => this.signal.raise(),
      logger: this.logger,
    });
  }

  readonly readiness: ReadinessCheck = {
    name: 'relay',
    check: () => {
      const ok = performance.now() - this.lastBeatMs < silentForMs;
      return ok ? { ok } : { ok, detail: `no contact with PostgreSQL for ${silentForMs / 1_000} s` };
    },
  };

  async start(): Promise<void> {
    this.running ??= this.run();
  }

  wake(): void {
    this.woken = true;
    this.othersToWake = true;
    this.signal.raise();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.signal.raise();
    await this.running;
    this.publisher.close();
    await this.kafka.close();
  }

  private async run(): Promise<void> {
    let failures = 0;
    const connected = () => {
      if (failures > 0) {
        this.logger.info('the relay has a database connection again');
        metrics.listenReconnects.inc();
      }
      failures = 0;
    };
    while (!this.stopping.signal.aborted) {
      try {
        await this.serve(connected);
      } catch (error) {
        const pauseMs = Math.min(longestReconnectMs, 100 * 2 ** failures) * (0.5 + Math.random() / 2);
        failures += 1;
        // The first says it; readiness and the age of the oldest row go on saying it.
        const level = failures === 1 ? 'warn' : 'debug';
        this.logger[level]({ err: error, retry_in_ms: Math.round(pauseMs) }, 'the relay has lost its database connection');
        await delay(pauseMs, undefined, { signal: this.stopping.signal }).catch(() => undefined);
      }
    }
  }

  /** Works on one connection until it is lost (then it throws) or the relay stops. */
  private async serve(connected: () => void): Promise<void> {
    const { db, statementTimeoutMs = 20_000 } = this.options;
    const on = {
      notified: () => this.notified(),
      told: (channel: string, payload: string) => this.notifications.notified(channel, payload),
      lost: () => this.signal.raise(),
    };
    const session = await OutboxSession.open(db, on, { silenceMs: this.silenceMs, statementTimeoutMs });
    try {
      connected();
      this.notifications.connected();
      this.nextBeatMs = 0;
      this.late = new LateFloor();
      while (!this.stopping.signal.aborted) await this.turn(session);
      await this.finish(session);
    } finally {
      this.leaseUntilMs = 0;
      this.lanes.clear();
      this.publisher.setLanes(new Set());
      await session.close();
    }
  }

  private async turn(session: OutboxSession): Promise<void> {
    const startedMs = performance.now();
    if (startedMs >= this.nextBeatMs) await this.beat(session);
    await this.notifications.begin((channel) => session.listen(channel));
    await this.wakeOthers(session);
    await this.settle(session);
    if (this.publisher.reopening.length > 0) this.rewind();
    const more = await this.readOn(session);
    if (session.lost) throw new Error('the connection ended');
    if (more && this.hasRoom()) return;
    await this.signal.wait(this.nextDueMs() - performance.now());
    const gather = startedMs + gatherMs - performance.now();
    if (gather > 1) await delay(gather);
  }

  private nextDueMs(): number {
    const owesNotice = this.othersToWake && this.lanes.hasNeighbours;
    return owesNotice ? Math.min(this.nextBeatMs, this.notifiedAtMs + notifyEveryMs) : this.nextBeatMs;
  }

  /** Another relay has written rows or given lanes back. */
  private notified(): void {
    if (this.lanes.isShort) this.nextBeatMs = 0;
    this.woken = true;
    this.signal.raise();
  }

  private async beat(session: OutboxSession): Promise<void> {
    const sentMs = performance.now();
    const beat = await session.beat();
    await this.lanes.follow(beat, session);
    this.leaseUntilMs = sentMs + this.leaseMs;
    this.lastBeatMs = sentMs;
    this.nextBeatMs = sentMs + Math.min(this.pollMs, this.leaseMs / 4);
    this.beats += 1;
    this.woken = true;
    this.publisher.setLanes(new Set(this.lanes.reading.keys()));
    this.late.observe(beat, this.lanes.highest);
    if (sentMs >= this.nextLookMs) await this.lookBehind(session);
    if (sentMs - this.statsAtMs >= statsEveryMs) await this.report(session);
    this.publisher.pump();
  }

  /** Finds rows that were committed after higher ids had been read. */
  private async lookBehind(session: OutboxSession): Promise<void> {
    const startedMs = performance.now();
    const floor = this.beats % fullLookEveryBeats === 0 ? 0n : this.late.floor;
    if (this.lanes.highest <= floor) return;
    const behind = await session.behind(this.lanes.reading, floor, this.closedTopics());
    const missed = behind.filter(({ id }) => !this.publisher.holds(id)).slice(0, readRows);
    if (missed.length > 0) this.publisher.add((await session.fetch(missed)).filter(hasContent));
    this.late.looked();
    // A transaction that never ends keeps the floor down; looking must not become all that is done.
    this.nextLookMs = performance.now() + 10 * (performance.now() - startedMs);
  }

  private closedTopics(): string[] {
    return [...this.publisher.stopped, ...this.publisher.reopening];
  }

  private async wakeOthers(session: OutboxSession): Promise<void> {
    if (!this.othersToWake || !this.lanes.hasNeighbours) return;
    const nowMs = performance.now();
    if (nowMs - this.notifiedAtMs < notifyEveryMs) return;
    this.othersToWake = false;
    this.notifiedAtMs = nowMs;
    await session.notify();
  }

  /** Takes out of the table what is published or parked. */
  private async settle(session: OutboxSession): Promise<void> {
    const { published, parked } = this.publisher.takeSettled();
    try {
      if (published.length > 0) {
        await session.remove(published);
        crashPoint('deleted');
      }
      this.publisher.forget(published);
      for (const { row, reason } of parked) {
        await session.park(row, reason);
        this.logger.error({ topic: row.topic, reason }, 'an outbox row is parked: Kafka will never take it');
        this.publisher.forget([row]);
      }
    } catch (error) {
      this.publisher.settleAgain({ published, parked });
      throw error;
    }
    if (this.lanes.isLeaving) await this.lanes.giveBack(session, (lane) => this.publisher.holdsLane(lane));
  }

  private rewind(): void {
    this.lanes.rewind();
    this.publisher.open();
    this.woken = true;
  }

  private hasRoom(): boolean {
    return this.publisher.heldRows + readRows <= maxHeldRows && this.publisher.heldBytes < maxHeldBytes;
  }

  /** Reads the next rows of every lane. True where more is waiting. */
  private async readOn(session: OutboxSession): Promise<boolean> {
    const cursors = this.lanes.reading;
    if (!this.woken || cursors.size === 0 || !this.hasRoom()) return false;
    this.woken = false;
    const wanted = Math.min(readRows, Math.ceil(readBytes / this.averageBytes));
    const perLane = Math.max(1, Math.ceil(wanted / cursors.size));
    const rows = await session.read(cursors, perLane, this.publisher.stopped);
    const perLaneRead = new Map<number, number>();
    for (const { lane, id } of rows) {
      this.lanes.read(lane, id);
      perLaneRead.set(lane, (perLaneRead.get(lane) ?? 0) + 1);
    }
    const whole = rows.filter(hasContent);
    if (whole.length > 0) this.averageBytes = Math.ceil(whole.reduce((sum, row) => sum + row.bytes, 0) / whole.length);
    this.publisher.add(whole);
    const more = [...perLaneRead.values()].some((count) => count >= perLane);
    this.woken ||= more;
    return more;
  }

  private async report(session: OutboxSession): Promise<void> {
    this.statsAtMs = performance.now();
    const { pending, oldestAgeSeconds, parked } = await session.stats();
    metrics.outboxPending.set(pending);
    metrics.outboxOldestAge.set(oldestAgeSeconds);
    metrics.outboxParked.set(parked);
  }

  /** Nothing new goes out; what is in flight is waited for and deleted. */
  private async finish(session: OutboxSession): Promise<void> {
    this.publisher.setLanes(new Set());
    const giveUpMs = performance.now() + stopWithinMs;
    while (this.publisher.inFlight > 0 && performance.now() < giveUpMs) await this.signal.wait(giveUpMs - performance.now());
    await this.settle(session);
    await session.notify();
  }
}

const hasContent = (row: QueuedRow | SkippedRow): row is QueuedRow => !('skipped' in row);
