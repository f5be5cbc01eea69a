import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { crashPoint, type Database, type Logger, metrics, parseTraceContext, type Span, type Telemetry } from '#runtime';
import { lookUp } from './look-up.js';
import type { LookupResult } from './outcome.js';
import { appendNotes, settle } from './sql/settle.js';
import { blockedDestinations } from './sql/sweep.js';
import { giveBack, leaseUncertain, leaseUnraised, lockLeased } from './sql/verify.js';
import { type AttemptNote, afterChange, outboxOf, type StoredChange } from './stored-change.js';
import type { StoredDelivery, StoredOperation } from './stored-delivery.js';
import type { VerifiedTarget } from './swept-target.js';
import { firstUncertain, goneChange, isToBeRaised, lookupVerdict, verdictChange } from './verifier-changes.js';

export interface VerifierOptions {
  db: Database;
  /** By `delivery.destination`. Rows of a destination that this process does not serve are left to the one that does. */
  target(destination: string): VerifiedTarget | undefined;
  /** A delivery was changed. Told once that is committed. */
  onChange?(after: StoredDelivery): void;
  relayWake: () => void;
  telemetry: Telemetry;
  logger: Logger;
  /** Default 1,000. */
  everyMs?: number;
  /** Lookups of this process at once; default 8, and half as many for one destination. */
  concurrency?: number;
  /** The longest a lookup may take; default 50,000. A row is leased for a little longer: another process takes it over when this one died. */
  longestLookupMs?: number;
}

/** What is read, waited for (a quota) and written around a lookup. Whoever lost the lease nevertheless finds its answer refused, and notes it. */
const leaseSlackMs = 5_000;
/** Before a row is tried again whose lookup was not admitted. */
const refusedWaitMs = 1_000;
/** Before a row is tried again whose lookup could not be judged. */
const brokenWaitMs = 30_000;

/** What one lookup came to, as the row of an attempt. */
interface Asked {
  result: LookupResult | undefined;
  note?: AttemptNote;
}

/**
 * Finds out about uncertain deliveries, by looking up their first uncertain operation at the destination. It never sends: what is proved
 * absent is due again for the engine. Every process verifies what it serves; a row is leased for one lookup while its state stays
 * `uncertain`. A destination that is held, blocked or short of quota is not asked; the owner of what stays unanswered is told all the same.
 */
export class Verifier {
  readonly #options: VerifierOptions;
  readonly #stop = new AbortController();
  readonly #unknown = new Set<string>();
  readonly #busy = new Map<string, number>();
  readonly #underWay = new Set<Promise<void>>();
  #running: Promise<void> = Promise.resolve();

  constructor(options: VerifierOptions) {
    this.#options = options;
  }

  get #longestLookupMs(): number {
    return this.#options.longestLookupMs ?? 50_000;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Takes nothing new and waits for the lookups under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await Promise.all(this.#underWay);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#take();
      } catch (error) {
        this.#options.logger.warn({ err: error }, 'uncertain deliveries not read');
      }
      await delay(this.#options.everyMs ?? 1_000, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** One round, to its end: verifies what is due now. Gives the number of deliveries. */
  async verify(): Promise<number> {
    const taken = await this.#take();
    await Promise.all(this.#underWay);
    return taken;
  }

  /** Starts a lookup for each due row that there is room for. */
  async #take(): Promise<number> {
    const { concurrency = 8 } = this.#options;
    const limit = concurrency - this.#underWay.size;
    if (limit <= 0) return 0;
    const full = [...this.#busy].filter(([, count]) => count >= concurrency / 2).map(([destination]) => destination);
    const leaseMs = this.#longestLookupMs + leaseSlackMs;
    const shut = await blockedDestinations(this.#options.db);
    const skip = [...this.#unknown, ...full, ...shut];
    const leased = await leaseUncertain(this.#options.db, { skip, limit, leaseMs });
    for (const stored of leased) this.#begin(stored, { mayAsk: true });
    return leased.length + (await this.#takeUnraised(shut, { limit: limit - leased.length, leaseMs }));
  }

  /** What may not be looked up now and has been unanswered for so long that its owner is to be told. */
  async #takeUnraised(shut: readonly string[], { limit, leaseMs }: { limit: number; leaseMs: number }): Promise<number> {
    let taken = 0;
    for (const destination of shut) {
      const horizonMs = this.#options.target(destination)?.verification.horizonMs;
      if (horizonMs === undefined || taken >= limit) continue;
      const leased = await leaseUnraised(this.#options.db, { destination, horizonMs, limit: limit - taken, leaseMs });
      for (const stored of leased) this.#begin(stored, { mayAsk: false });
      taken += leased.length;
    }
    return taken;
  }

  #begin(stored: StoredDelivery, { mayAsk }: { mayAsk: boolean }): void {
    const { destination } = stored;
    this.#busy.set(destination, (this.#busy.get(destination) ?? 0) + 1);
    const work = this.#verifyOne(stored, mayAsk).finally(() => {
      const left = (this.#busy.get(destination) ?? 1) - 1;
      if (left > 0) this.#busy.set(destination, left);
      else this.#busy.delete(destination);
      this.#underWay.delete(work);
    });
    this.#underWay.add(work);
  }

  /** Never rejects. */
  async #verifyOne(stored: StoredDelivery, mayAsk: boolean): Promise<void> {
    try {
      const target = this.#options.target(stored.destination);
      const operation = firstUncertain(stored);
      if (target === undefined) return await this.#notServed(stored);
      if (operation === undefined) return await this.#nothingToAsk(stored, target);
      const asked = await this.#askAdmitted(stored, operation, { target, mayAsk });
      if (asked === undefined) return await giveBack(this.#options.db, stored, refusedWaitMs);
      await this.#settle(stored, asked, target);
    } catch (error) {
      const fields = { err: error, event_id: stored.eventId, destination: stored.destination };
      this.#options.logger.error(fields, 'uncertain delivery not verified');
      await giveBack(this.#options.db, stored, brokenWaitMs).catch(() => undefined);
    }
  }

  async #notServed(stored: StoredDelivery): Promise<void> {
    this.#unknown.add(stored.destination);
    this.#options.logger.debug({ destination: stored.destination }, 'uncertain deliveries of this destination are left to another process');
    await giveBack(this.#options.db, stored, 0);
  }

  async #nothingToAsk(leased: StoredDelivery, target: VerifiedTarget): Promise<void> {
    const { db, logger, onChange, relayWake } = this.#options;
    const change = await db.transaction(async (tx) => {
      const stored = await lockLeased(tx, leased);
      if (stored === undefined || firstUncertain(stored) !== undefined) return undefined;
      const gone = goneChange(stored);
      await settle(tx, [gone], await outboxOf(gone, target, logger));
      return gone;
    });
    if (change === undefined) return;
    relayWake();
    logger.error({ event_id: leased.eventId, destination: leased.destination }, 'operations of an uncertain delivery are gone');
    onChange?.(afterChange(change));
  }

  /** `undefined`: it may not be asked now, and nothing else is to be said about it. */
  async #askAdmitted(
    stored: StoredDelivery,
    operation: StoredOperation,
    { target, mayAsk }: { target: VerifiedTarget; mayAsk: boolean },
  ): Promise<Asked | undefined> {
    if (target.lookup === undefined || !target.canLookUp(operation.kind)) return { result: undefined };
    if (mayAsk && ((await target.lookups?.admit()) ?? true)) return this.#ask(stored, operation, target);
    return isToBeRaised(stored, operation, target) ? { result: { kind: 'unknown', code: 'not_asked' } } : undefined;
  }

  async #ask(stored: StoredDelivery, operation: StoredOperation, target: VerifiedTarget): Promise<Asked> {
    const span = this.#startSpan(stored, operation, target);
    const startedAt = performance.now();
    const question = { stored, operation, span, mostMs: this.#longestLookupMs };
    const result = await lookUp(target, question, (error) => this.#threw(stored, error));
    crashPoint('looked_up');
    const durationMs = performance.now() - startedAt;
    if (result.kind === 'unknown' && result.throttled !== undefined) target.lookups?.throttled(result.throttled.afterMs);
    const outcome = `lookup_${result.kind}`;
    span.set({ 'lead.outcome': outcome });
    span.end(result.kind === 'unknown' ? { error: result.code } : undefined);
    metrics.lookups.inc({ destination: target.name, outcome: result.kind });
    const note: AttemptNote = {
      attemptId: stored.attemptId ?? randomUUID(),
      number: operation.attempts,
      startedAgoMs: durationMs,
      durationMs,
      outcome,
      code: result.kind === 'unknown' ? result.code : undefined,
      ref: result.kind === 'found' ? result.ref : undefined,
      traceId: span.context.traceId,
      spanId: span.context.spanId,
    };
    return { result, note };
  }

  #threw(stored: StoredDelivery, error: unknown): void {
    this.#options.logger.error({ err: error, event_id: stored.eventId, destination: stored.destination }, 'connector threw');
  }

  #startSpan(stored: StoredDelivery, operation: StoredOperation, target: VerifiedTarget): Span {
    const first = parseTraceContext({ traceparent: stored.traceparent, tracestate: stored.tracestate });
    return this.#options.telemetry.startSpan(`look up ${operation.kind} ${target.name}`, {
      kind: 'client',
      links: first ? [{ context: first, attributes: { 'lead.link': 'first' } }] : [],
      attributes: { 'lead.event_id': stored.eventId, 'lead.destination': stored.destination, 'lead.operation_key': operation.operationKey },
    });
  }

  /** Judges by the row as it is now: the answer of the doubtful call may have come meanwhile, and then it counts. */
  async #settle(leased: StoredDelivery, { result, note }: Asked, target: VerifiedTarget): Promise<void> {
    const { db, logger, onChange, relayWake } = this.#options;
    const attemptsAllowed = await target.attempts(leased);
    const written = await db.transaction(async (tx) => {
      const stored = await lockLeased(tx, leased);
      const operation = stored && firstUncertain(stored);
      if (stored === undefined || operation === undefined || operation.operationKey !== firstUncertain(leased)?.operationKey) {
        const key = firstUncertain(leased)?.operationKey;
        if (note && key) await appendNotes(tx, [{ ...note, operationKey: key, late: true }]);
        return undefined;
      }
      const answered = { stored, operation, attemptsAllowed, note };
      const verdict = lookupVerdict(answered, result, { target, beganAtMs: leased.resolvedAt.getTime(), random: Math.random() });
      const change = verdictChange(answered, verdict);
      const outbox = await outboxOf(change, target, logger);
      await settle(tx, [change], outbox);
      return { change, announced: outbox.length > 0 };
    });
    if (written === undefined) return;
    crashPoint('verified');
    if (written.announced) relayWake();
    this.#report(written.change, target, note);
    onChange?.(afterChange(written.change));
  }

  #report(change: StoredChange, target: VerifiedTarget, note: AttemptNote | undefined): void {
    const { stored, state } = change;
    const fields = { event_id: stored.eventId, destination: stored.destination, attempt_id: note?.attemptId, outcome: note?.outcome };
    if (change.raise) this.#options.logger.error({ ...fields, error_class: change.class }, 'write stays unverified; a person must decide');
    else this.#options.logger.info({ ...fields, decision: state, error_code: note?.code }, 'uncertain delivery looked up');
    if (state !== 'delivered' || stored.test) return;
    metrics.e2e.observe({ destination: target.name }, Math.max(stored.resolvedAt.getTime() - stored.submittedAt.getTime(), 0) / 1_000);
  }
}
