import { setTimeout as delay } from 'node:timers/promises';
import { headers, retryTierMs } from '#contracts';
import { dueMsOf, type Received } from '#messaging';
import { crashPoint, metrics } from '#runtime';
import { Claiming, type Met } from './claiming.js';
import { ContactTurns } from './contact-turns.js';
import { DeadLetters } from './dead-letters.js';
import { Dispatch } from './dispatch.js';
import type { DeliveryEngineOptions } from './engine-options.js';
import { LeaseKeeper } from './lease-keeper.js';
import { Payloads } from './payloads.js';
import { type Call, conclude, type Rest } from './policy/conclude.js';
import { Reporter } from './reporter.js';
import { Sender, type Sent } from './sender.js';
import { appendLostLease } from './sql/append-attempt.js';
import type { ClaimResult } from './sql/claim.js';
import { DatabaseAway } from './sql/database-away.js';
import { Stopped } from './sql/errors.js';
import { renew } from './sql/leases.js';
import type { DeliveryRecord } from './sql/record.js';
import { createStatements, type Statements } from './statements.js';
import { canLookUp } from './target.js';
import { toPartialRecord, toRecord } from './to-record.js';
import type { LeadPayload } from './vault.js';
import { isRetryTopic, newWork, type Work } from './work.js';

/** What stands before a call: it may be made, nothing may be sent now, or no call is made of this claim at all. */
type Start = { kind: 'ready'; payload?: LeadPayload } | { kind: 'park' } | Rest;

/** Until a call is tried again that the destination's state did not admit although it is not blocked. */
const refusedAgainMs = 250;
/** Until the rest of a delivery is tried again whose destination was blocked, or whose lease became too short, between two of its calls. */
const restAgainMs = 1_000;

/**
 * Claim → send → record → settle for the deliveries of one target.
 *
 * The row is the truth, a record only wakes it: a record whose row is leased, ended or waiting elsewhere is settled and dropped. A delivery
 * that has to wait is recorded with its time and leaves memory; a record on a retry tier brings it back. While nothing may be sent (vault or
 * database away, destination blocked) claims go back to `pending`, kept here under a reservation, and the group is paused.
 */
export class DeliveryEngine<E> {
  readonly #options: DeliveryEngineOptions<E>;
  readonly #dispatch: Dispatch<E>;
  readonly #away: DatabaseAway;
  readonly #statements: Statements<E>;
  readonly #keeper: LeaseKeeper;
  readonly #deadLetters: DeadLetters;
  readonly #reporter: Reporter<E>;
  readonly #sender: Sender<E>;
  readonly #claiming: Claiming<E>;
  readonly #contacts: ContactTurns<E>;
  readonly #payloads: Payloads;

  constructor(options: DeliveryEngineOptions<E>) {
    const { db, target, logger, destination, leaseMs = 30_000 } = options;
    if (leaseMs <= target.timeoutMs) throw new RangeError(`the lease of ${target.name} must be longer than its timeout`);
    this.#options = options;
    this.#away = new DatabaseAway({
      logger,
      onAway: () => this.#dispatch.close('database'),
      onBack: () => this.#dispatch.open('database'),
    });
    this.#reporter = new Reporter({ ...options, target: target.name });
    this.#statements = createStatements({
      ...{ db, away: this.#away, leaseMs },
      onSecondReference: (record, operationKeys) => this.#reporter.secondReference(record, operationKeys),
    });
    this.#deadLetters = new DeadLetters({ ...options, write: this.#statements.announce });
    this.#keeper = new LeaseKeeper({ db, target: target.name, leaseMs, logger });
    this.#claiming = new Claiming({ ...options, statements: this.#statements });
    this.#contacts = new ContactTurns(options);
    this.#payloads = new Payloads({
      ...options,
      target: target.name,
      onAway: () => this.#dispatch.close('vault'),
      onBack: () => this.#dispatch.open('vault'),
    });
    this.#sender = new Sender({
      target,
      destination,
      reporter: this.#reporter,
      mark: this.#statements.mark,
      recordPart: (work, calls) => this.#recordPart(work, calls),
      mustWait: (work) => this.#dispatch.mustWait(work),
    });
    this.#dispatch = new Dispatch({ ...options, concurrency: target.concurrency, deliver: (work) => this.#run(work) });
  }

  /** Takes records over; returns at once. Each receipt is settled when its delivery is durable in the table, or was already. */
  take(received: readonly Received<E>[]): void {
    for (const one of received) {
      if (one.result.ok) this.#accept(one, one.result.event);
      else this.#unreadable(one, one.result.reason);
    }
    this.#dispatch.pump();
  }

  /**
   * Starts nothing new, lets calls in flight finish and be recorded within graceMs, and gives back what was claimed and not sent. What is
   * left after that is found by its lease.
   */
  async stop(graceMs = 10_000): Promise<void> {
    this.#dispatch.close('stopping');
    this.#payloads.stop();
    const end = performance.now() + graceMs;
    while (this.#dispatch.active > 0 && performance.now() < end) await delay(5);
    this.#away.stop();
    await this.#keeper.stop();
    const reserved = this.#dispatch.reserved();
    if (reserved.length > 0) await renew(this.#options.db, reserved, 0).catch(() => undefined);
  }

  #accept(received: Received<E>, event: E): void {
    try {
      const plan = this.#options.target.plan(event, received.receipt.record);
      if (plan === undefined) received.receipt.settle();
      else this.#dispatch.add(newWork(received, event, plan));
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

  /** Never rejects. True when a call was made. */
  async #run(work: Work<E>): Promise<boolean> {
    try {
      return await this.#deliver(work);
    } catch (error) {
      this.#broken(work, error);
      return false;
    }
  }

  async #deliver(work: Work<E>): Promise<boolean> {
    const claim = await this.#claiming.claim(work);
    if (claim.kind !== 'claimed') return this.#notClaimed(work, claim);
    this.#noteLateness(work);
    this.#keeper.hold(work);
    this.#reporter.begin(work);
    const start = await this.#start(work);
    if (start.kind === 'park') return this.#park(work);
    if (start.kind !== 'ready') return this.#finish(work, [], start);
    const { stop, calls } = await this.#dispatch.inBulkhead(work, () => this.#send(work, start.payload));
    if (calls.length === 0 && stop.kind === 'blocked') return this.#park(work);
    if (calls.length === 0 && stop.kind === 'lost') return this.#giveBack(work);
    if (stop.kind === 'done' || stop.kind === 'blocked' || stop.kind === 'lost') {
      return this.#finish(work, calls, { kind: 'later', delayMs: restAgainMs });
    }
    return this.#finish(work, calls, stop);
  }

  #noteLateness({ plan, received }: Work<E>): void {
    const dueMs = dueMsOf(received.receipt.record.headers[headers.notBefore]);
    if (dueMs !== undefined) this.#options.lateness?.note(plan.destination, Date.now() - dueMs);
  }

  /** What stands before a call: the pause, the deadline, the vault, the person's other leads. */
  async #start(work: Work<E>): Promise<Start> {
    if (this.#dispatch.mustWait(work)) return { kind: 'park' };
    if (work.deadlineAt <= performance.now()) return { kind: 'run_out', limit: 'deadline' };
    // Of what is not sent nobody's data is read.
    if (work.plan.refused !== undefined) return { kind: 'refused', ...work.plan.refused };
    const read = await this.#payloads.of(work);
    if (read.kind !== 'read') return read.kind === 'away' ? { kind: 'park' } : read;
    if (work.incomplete) return untilDeadline(work);
    const turn = await this.#contacts.acquire(work, read.payload);
    if (turn.kind === 'busy') return { kind: 'later', code: 'contact_busy', delayMs: turn.waitMs };
    return { kind: 'ready', payload: read.payload };
  }

  async #send(work: Work<E>, payload?: LeadPayload): Promise<Sent> {
    if (this.#dispatch.mustWait(work)) return { stop: { kind: 'blocked' }, calls: [] };
    return this.#sender.send(work, payload);
  }

  /** Back to `pending`, reserved; it comes again when the gate opens. */
  async #park(work: Work<E>): Promise<false> {
    this.#reporter.leave(work, 'paused');
    // The destination refused this one call alone: whoever asks again at once gets the same answer.
    if (this.#dispatch.isOpen) await delay(refusedAgainMs, undefined, { ref: false });
    return this.#release(work);
  }

  /** The lease is too short or gone, and nothing was sent. */
  async #giveBack(work: Work<E>): Promise<false> {
    this.#reporter.leave(work, 'lease_short');
    return this.#release(work);
  }

  async #release(work: Work<E>): Promise<false> {
    if (!(await this.#statements.release(work))) return this.#lost(work);
    this.#contacts.settle(work, []);
    this.#dispatch.add(work);
    return false;
  }

  async #lost(work: Work<E>): Promise<false> {
    await appendLostLease(this.#options.db, work).catch((error: unknown) => {
      this.#options.logger.warn({ err: error, event_id: work.plan.eventId }, 'lost lease not noted');
    });
    this.#reporter.leave(work, 'lease_lost');
    return this.#drop(work);
  }

  #notClaimed(work: Work<E>, claim: Exclude<Met, { kind: 'claimed' }>): false {
    this.#keeper.drop(work);
    const { receipt } = work.received;
    if (claim.kind === 'refused') this.#deadLetters.send(receipt, { class: 'invalid', code: 'unstorable' });
    else if (claim.kind === 'later') receipt.redeliverIn(claim.delayMs);
    else if (claim.kind === 'not_due' && comesBack(claim, receipt.record.topic)) receipt.redeliverIn(claim.waitMs);
    else {
      if (claim.kind === 'no_item') this.#reporter.refused(work, claim.code);
      else metrics.inboxDuplicates.inc({ consumer: this.#options.target.name });
      return this.#drop(work);
    }
    return false;
  }

  /** This process is done with it. */
  #drop(work: Work<E>): false {
    this.#keeper.drop(work);
    work.received.receipt.settle();
    crashPoint('settled');
    return false;
  }

  /** True when calls were made. */
  async #finish(work: Work<E>, calls: Call[], rest: Rest): Promise<boolean> {
    const { target } = this.#options;
    const context = { canLookUp: (kind: string) => canLookUp(target, kind), incomplete: work.incomplete };
    const conclusion = conclude({ operations: work.operations, calls, rest, context });
    const record = toRecord(work, conclusion, this.#options);
    const won = (await this.#statements.record(record)) || (await this.#late(record));
    crashPoint('recorded');
    if (won && record.outbox.length > 0) this.#options.relayWake();
    this.#contacts.settle(work, calls);
    this.#reporter.end(work, { ...conclusion, state: won ? conclusion.state : 'in_flight' }, calls);
    this.#drop(work);
    return calls.length > 0;
  }

  async #recordPart(work: Work<E>, calls: Call[]): Promise<boolean> {
    const record = toPartialRecord(work, calls);
    const written = (await this.#statements.record(record)) || (await this.#late(record));
    crashPoint('part_recorded');
    this.#contacts.settlePart(work, calls);
    return written;
  }

  /** The compare-and-set was lost. True when it was our own earlier write that had got through. */
  async #late(record: DeliveryRecord): Promise<boolean> {
    const late = await this.#statements.late({ record, wakeTopic: this.#options.wakeTopic('15s') });
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
}

/** What became of the operations is not known, so none is sent: a person decides about the dead letter that the deadline makes. */
const untilDeadline = (work: Work<unknown>): Rest => ({
  kind: 'later',
  code: 'operations_gone',
  delayMs: Math.ceil(work.deadlineAt - performance.now()),
});

/**
 * A record that came before its time is kept for it. One of the main topic that meets a waiting row is not: the record that wakes the row was
 * written together with it.
 */
function comesBack({ state, waitMs }: Extract<ClaimResult, { kind: 'not_due' }>, topic: string): boolean {
  return waitMs <= retryTierMs['5m'] && (state === 'pending' || isRetryTopic(topic));
}
