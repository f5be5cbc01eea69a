import { setTimeout as delay } from 'node:timers/promises';
import { retryTierMs } from '#contracts';
import type { Received } from '#messaging';
import { metrics } from '#runtime';
import { Bulkhead } from './bulkhead.js';
import { DeadLetters } from './dead-letters.js';
import type { DeliveryEngineOptions } from './engine-options.js';
import { Gate, type PauseReason } from './gate.js';
import { LeaseKeeper } from './lease-keeper.js';
import { type Call, conclude, type Rest } from './policy/conclude.js';
import { Reporter } from './reporter.js';
import { Retries } from './retries.js';
import { Sender, type Sent } from './sender.js';
import { appendLostLease } from './sql/append-attempt.js';
import type { ClaimResult } from './sql/claim.js';
import { DatabaseAway } from './sql/database-away.js';
import { Stopped } from './sql/errors.js';
import { settleLate } from './sql/late-answer.js';
import { renew } from './sql/leases.js';
import type { DeliveryRecord } from './sql/record.js';
import { statementRows } from './sql/sql-batch.js';
import { createStatements, type Statements } from './statements.js';
import { toPartialRecord, toRecord } from './to-record.js';
import type { LeadPayload } from './vault.js';
import { VaultReads } from './vault-reads.js';
import { newWork, type Work } from './work.js';

type Started = { kind: 'ready'; payload?: LeadPayload } | { kind: 'ended' };

/** Outcomes on their way into the table beside the calls in flight: two full statements. */
const recordsUnderWay = 2 * statementRows;

/**
 * Claim → send → record → settle for the deliveries of one target.
 *
 * The row is the truth, a record only wakes it: a record whose row is leased, ended or waiting elsewhere is settled and dropped. What is
 * in memory is a cache of claims; if the process dies the lease runs out and the sweeper wakes the row. While nothing may be sent (vault or
 * database away, destination failing) claims go back to `pending`, kept here under a reservation, and the group is paused.
 */
export class DeliveryEngine<E> {
  readonly #options: DeliveryEngineOptions<E>;
  readonly #window: number;
  readonly #maxAhead: number;
  readonly #gate: Gate;
  readonly #away: DatabaseAway;
  readonly #statements: Statements<E>;
  readonly #keeper: LeaseKeeper;
  readonly #deadLetters: DeadLetters;
  readonly #reporter: Reporter<E>;
  readonly #retries: Retries<E>;
  readonly #sender: Sender<E>;
  readonly #bulkhead: Bulkhead;
  readonly #vault?: VaultReads;
  readonly #parked = new Set<Work<E>>();
  /** Claimed, or being claimed, and not yet being sent: what a crash leaves leased for nothing. */
  readonly #ahead = new Set<Work<E>>();
  #queue: Work<E>[] = [];
  #active = 0;

  constructor(options: DeliveryEngineOptions<E>) {
    const { db, target, vault, logger, leaseMs = 30_000 } = options;
    if (leaseMs <= target.timeoutMs) throw new RangeError(`the lease of ${target.name} must be longer than its timeout`);
    this.#options = options;
    this.#maxAhead = Math.max(statementRows, 4 * target.concurrency);
    this.#window = this.#maxAhead + target.concurrency + recordsUnderWay;
    this.#gate = new Gate({ onClose: (reason) => this.#closed(reason), onOpen: (reason, open) => this.#opened(reason, open) });
    this.#away = new DatabaseAway({
      logger,
      onAway: () => this.#gate.close('database'),
      onBack: () => this.#gate.open('database'),
    });
    this.#statements = createStatements({ db, away: this.#away, leaseMs });
    this.#deadLetters = new DeadLetters({ ...options, write: this.#statements.announce });
    this.#keeper = new LeaseKeeper({ db, target: target.name, leaseMs, logger });
    this.#reporter = new Reporter({ ...options, target: target.name });
    this.#retries = new Retries({ gate: this.#gate, run: (work) => this.#run(work), enqueue: (work) => this.#enqueue(work) });
    this.#bulkhead = new Bulkhead(target.concurrency);
    this.#sender = new Sender({
      target,
      reporter: this.#reporter,
      mark: this.#statements.mark,
      recordPart: (work, calls) => this.#statements.record(toPartialRecord(work, calls)),
    });
    if (vault) this.#vault = new VaultReads({ vault, target: target.name, logger, onBack: () => this.#gate.open('vault') });
  }

  /** Takes records over; returns at once. Each receipt is settled when its delivery is durable in the table, or was already. */
  take(received: readonly Received<E>[]): void {
    for (const one of received) {
      if (one.result.ok) this.#accept(one, one.result.event);
      else this.#unreadable(one, one.result.reason);
    }
    this.#pump();
  }

  /**
   * Starts nothing new, lets calls in flight finish and be recorded within graceMs, and gives back what was claimed and not sent. What is
   * left after that is found by its lease.
   */
  async stop(graceMs = 10_000): Promise<void> {
    this.#gate.close('stopping');
    this.#retries.stop();
    this.#vault?.stop();
    const end = performance.now() + graceMs;
    while (this.#active > 0 && performance.now() < end) await delay(5);
    this.#away.stop();
    await this.#keeper.stop();
    const reserved = [...this.#parked, ...this.#queue.filter((work) => work.leasedAt > 0)];
    if (reserved.length > 0) await renew(this.#options.db, reserved, 0).catch(() => undefined);
  }

  #accept(received: Received<E>, event: E): void {
    try {
      const plan = this.#options.target.plan(event);
      if (plan === undefined) received.receipt.settle();
      else this.#queue.push(newWork(received, event, plan));
    } catch (error) {
      this.#options.logger.error({ err: error, destination: this.#options.target.name }, 'event could not be planned');
      this.#deadLetters.send(received.receipt, { class: 'invalid', code: 'unplannable' });
    }
  }

  #unreadable(received: Received<E>, reason: string): void {
    // A tombstone says that a key has no value any more: nothing to deliver, nothing to decide.
    if (reason === 'tombstone') received.receipt.settle();
    else this.#deadLetters.send(received.receipt, { class: 'decode', code: reason });
  }

  #enqueue(work: Work<E>): void {
    // A closed queue would hold back the very delivery whose success opens it.
    if (!this.#gate.isOpen && this.#retries.postpone(work)) return;
    this.#queue.push(work);
    this.#pump();
  }

  #pump(): void {
    if (!this.#gate.isOpen || this.#queue.length === 0) return;
    const room = Math.min(this.#window - this.#active, this.#maxAhead - this.#ahead.size);
    if (room <= 0) return;
    const next = this.#queue.length <= room ? this.#queue : this.#queue.splice(0, room);
    if (next === this.#queue) this.#queue = [];
    for (const work of next) void this.#run(work).then(() => this.#pump());
  }

  /** Never rejects. */
  async #run(work: Work<E>): Promise<void> {
    if (work.received.receipt.stale && work.leasedAt === 0) return;
    this.#active++;
    this.#ahead.add(work);
    try {
      await this.#deliver(work);
    } catch (error) {
      this.#broken(work, error);
    } finally {
      this.#active--;
      this.#ahead.delete(work);
    }
  }

  async #deliver(work: Work<E>): Promise<void> {
    const claim = await this.#statements.claim(work);
    if (claim.kind !== 'claimed') return this.#notClaimed(work, claim);
    this.#keeper.hold(work);
    this.#reporter.begin(work);
    const started = await this.#start(work);
    if (started.kind === 'ended') return;
    await this.#bulkhead.enter();
    this.#ahead.delete(work);
    this.#pump();
    const sent = await this.#send(work, started.payload).finally(() => this.#bulkhead.leave());
    if (sent === 'parked') return this.#park(work);
    if (sent.end === 'lost' && sent.calls.length === 0) return this.#giveBack(work);
    return this.#finish(work, sent.calls, sent.end === 'deadline' ? 'expired' : 'again');
  }

  /** What stands before a call: the pause, the deadline, the vault. */
  async #start(work: Work<E>): Promise<Started> {
    const ended = { kind: 'ended' } as const;
    if (this.#mustWait(work)) return this.#park(work).then(() => ended);
    if (work.deadlineAt <= performance.now()) return this.#finish(work, [], 'expired').then(() => ended);
    if (!work.plan.needsVault || this.#vault === undefined) return { kind: 'ready' };
    try {
      const item = await this.#vault.read(work.plan.leadRef);
      if (item.status === 200) return { kind: 'ready', payload: item.payload };
    } catch (error) {
      this.#gate.close('vault');
      this.#vault.unreachable(error, work.plan.leadRef);
      return this.#park(work).then(() => ended);
    }
    return this.#finish(work, [], 'erased').then(() => ended);
  }

  async #send(work: Work<E>, payload?: LeadPayload): Promise<Sent | 'parked'> {
    if (this.#mustWait(work)) return 'parked';
    const sent = await this.#sender.send(work, payload);
    // Before the place in the bulkhead is given back: whoever waits for it must find the gate closed.
    if (sent.calls.at(-1)?.verdict.state === 'waiting') this.#gate.close('destination');
    return sent;
  }

  #mustWait(work: Work<E>): boolean {
    return !this.#gate.isOpen && !(work.probe && this.#gate.admitsProbe);
  }

  /** Back to `pending`, reserved; it comes again when the gate opens. */
  async #park(work: Work<E>): Promise<void> {
    this.#reporter.leave(work, 'paused');
    if (!(await this.#statements.release(work))) return this.#lost(work);
    if (this.#gate.isOpen) this.#enqueue(work);
    else if (!this.#retries.postpone(work)) this.#parked.add(work);
  }

  /** The lease is too short or gone, and nothing was sent. */
  async #giveBack(work: Work<E>): Promise<void> {
    if (!(await this.#statements.release(work))) return this.#lost(work);
    this.#reporter.leave(work, 'lease_short');
    this.#enqueue(work);
  }

  async #lost(work: Work<E>): Promise<void> {
    await appendLostLease(this.#options.db, work).catch((error: unknown) => {
      this.#options.logger.warn({ err: error, event_id: work.plan.eventId }, 'lost lease not noted');
    });
    this.#reporter.leave(work, 'lease_lost');
    this.#drop(work);
  }

  #notClaimed(work: Work<E>, claim: Exclude<ClaimResult, { kind: 'claimed' }> | { kind: 'refused' }): void {
    this.#keeper.drop(work);
    if (claim.kind === 'refused') {
      this.#deadLetters.send(work.received.receipt, { class: 'invalid', code: 'unstorable' });
    } else if (claim.kind === 'not_due' && claim.waitMs <= retryTierMs['5m']) {
      if (work.retry) this.#retries.later(work, claim.waitMs);
      else work.received.receipt.redeliverIn(claim.waitMs);
    } else if (claim.kind !== 'leased' || !this.#retries.elsewhere(work)) {
      metrics.inboxDuplicates.inc({ consumer: this.#options.target.name });
      this.#drop(work, claim.kind === 'closed' && claim.state === 'succeeded');
    }
  }

  /** This process is done with it. `proof`: the destination has taken it. */
  #drop(work: Work<E>, proof = false): void {
    this.#keeper.drop(work);
    work.received.receipt.settle();
    this.#retries.over(work, proof);
  }

  async #finish(work: Work<E>, calls: Call[], rest: Rest): Promise<void> {
    const conclusion = conclude(work.operations, calls, rest);
    const again = conclusion.state === 'waiting' || conclusion.state === 'pending';
    const record = toRecord(work, conclusion, this.#options.target);
    const won = (await this.#statements.record(record)) || (await this.#late(record));
    if (won && record.outbox.length > 0) this.#options.relayWake();
    this.#reporter.end(work, { ...conclusion, state: won ? conclusion.state : 'in_flight' }, calls);
    if (!won || !again) return this.#drop(work, won && conclusion.state === 'delivered');
    this.#keeper.drop(work);
    work.received.receipt.settle();
    work.retry = true;
    work.attemptId = crypto.randomUUID();
    if (conclusion.state === 'waiting') this.#retries.failed(work, conclusion.delayMs ?? 0);
    else this.#enqueue(work);
  }

  /** The compare-and-set was lost. True when it was our own earlier write that had got through. */
  async #late(record: DeliveryRecord): Promise<boolean> {
    const late = await settleLate(this.#options.db, record);
    if (late.kind === 'repeated') return true;
    this.#reporter.late(record, late);
    if (late.kind === 'applied') this.#options.relayWake();
    return false;
  }

  /** Not foreseen. A claimed row is durable, so its record may pass: the lease runs out and the sweeper wakes it. */
  #broken(work: Work<E>, error: unknown): void {
    this.#keeper.drop(work);
    this.#reporter.leave(work, 'broken');
    if (error instanceof Stopped) return;
    this.#options.logger.error({ err: error, event_id: work.plan.eventId, destination: work.plan.destination }, 'delivery broke off');
    if (work.leasedAt > 0) this.#drop(work);
  }

  #closed(reason: PauseReason): void {
    if (reason === 'destination') {
      metrics.circuitOpen.set({ destination: this.#options.target.name }, 1);
      this.#queue = this.#queue.filter((work) => !this.#retries.postpone(work));
    }
    if (reason !== 'stopping') this.#options.control().pause(reason);
  }

  #opened(reason: PauseReason, open: boolean): void {
    if (reason === 'destination') metrics.circuitOpen.set({ destination: this.#options.target.name }, 0);
    this.#options.control().resume(reason);
    if (!open) return;
    this.#queue = [...this.#parked, ...this.#queue];
    this.#parked.clear();
    this.#pump();
  }
}
