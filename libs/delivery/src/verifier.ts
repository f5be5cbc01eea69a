import { randomUUID } from 'node:crypto';
import { crashPoint, type Database, type Logger, metrics, parseTraceContext, type Span, type Telemetry } from '#runtime';
import { foundTooLate, lateFound } from './late-found.js';
import { lookUp } from './look-up.js';
import { LookupLanes } from './lookup-lanes.js';
import type { LookupResult } from './outcome.js';
import { appendNotes, settle } from './sql/settle.js';
import { lockStored } from './sql/stored.js';
import { blockedDestinations } from './sql/sweep.js';
import { giveBack, holdsLease, leaseByRoom, leaseUncertain, leaseUnraised, lockLeased } from './sql/verify.js';
import { type AttemptNote, afterChange, outboxOf, type StoredChange } from './stored-change.js';
import type { StoredDelivery, StoredOperation } from './stored-delivery.js';
import type { VerifiedTarget } from './swept-target.js';
import { firstUncertain, goneChange, isToBeRaised, lookupVerdict, verdictChange } from './verifier-changes.js';

export interface VerifierOptions {
  db: Database;
  /** By `delivery.destination`. Rows of a destination that this process does not serve are left to the one that does. */
  target(destination: string): VerifiedTarget | undefined;
  /** The destinations of this process, where they are few: each has places of its own. Default: none, all share `concurrency`. */
  served?: readonly string[];
  /** A delivery was changed. Told once that is committed. */
  onChange?(after: StoredDelivery): void;
  relayWake: () => void;
  telemetry: Telemetry;
  logger: Logger;
  /** Between rounds that found nothing more to do; default 1,000. */
  everyMs?: number;
  /** Lookups at once of the destinations that are not `served`; default 8, and half as many for one of them. */
  concurrency?: number;
  /** The longest a lookup may take; default 50,000. A row is leased for a little longer: another process takes it over when this one died. */
  longestLookupMs?: number;
}

/** What is read, waited for (a quota) and written around a lookup. Whoever lost the lease nevertheless finds its answer refused, and notes it. */
const leaseSlackMs = 5_000;
const defaultConcurrency = 8;
const defaultLookupsAtOnce = 4;
/** Before a row is tried again whose lookup was not admitted, or another of its destination. */
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
 * What is due is looked up one after the other without a pause, so that a thousand uncertain deliveries take as long as their lookups do; a
 * destination that answers slowly keeps its own places and no others.
 */
export class Verifier {
  readonly #options: VerifierOptions;
  readonly #stop = new AbortController();
  readonly #unknown = new Set<string>();
  readonly #lanes: LookupLanes;
  readonly #underWay = new Set<Promise<void>>();
  #running: Promise<void> = Promise.resolve();

  constructor(options: VerifierOptions) {
    const { served: own = [], concurrency: shared = defaultConcurrency, target } = options;
    this.#options = options;
    this.#lanes = new LookupLanes({ own, shared, places: (destination) => target(destination)?.lookupsAtOnce ?? defaultLookupsAtOnce });
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
    this.#lanes.wake();
    await this.#running;
    await Promise.all(this.#underWay);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#take();
      } catch (error) {
        this.#lanes.failed();
        this.#options.logger.warn({ err: error }, 'uncertain deliveries not read');
      }
      if (!signal.aborted) await this.#lanes.pause(this.#options.everyMs ?? 1_000);
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
    const shut = await blockedDestinations(this.#options.db);
    const leased = this.#options.served === undefined ? await this.#leaseShared(shut) : await this.#leaseOwn(shut);
    for (const stored of leased) this.#begin(stored, { mayAsk: true });
    return leased.length + (await this.#takeUnraised(shut));
  }

  get #leaseMs(): number {
    return this.#longestLookupMs + leaseSlackMs;
  }

  async #leaseOwn(shut: readonly string[]): Promise<StoredDelivery[]> {
    const rooms = this.#lanes.rooms(shut);
    const leased = await leaseByRoom(this.#options.db, rooms, this.#leaseMs);
    for (const [destination, room] of rooms)
      this.#lanes.taken(leased.filter((stored) => stored.destination === destination).length, room, destination);
    return leased;
  }

  async #leaseShared(shut: readonly string[]): Promise<StoredDelivery[]> {
    const limit = this.#lanes.sharedRoom();
    if (limit === 0) return [];
    const skip = [...this.#unknown, ...this.#lanes.sharedSkip(), ...shut];
    const leased = await leaseUncertain(this.#options.db, { skip, limit, leaseMs: this.#leaseMs });
    this.#lanes.taken(leased.length, limit);
    return leased;
  }

  /** What may not be looked up now and has been unanswered for so long that its owner is to be told. */
  async #takeUnraised(shut: readonly string[]): Promise<number> {
    let taken = 0;
    for (const destination of shut) {
      const horizonMs = this.#options.target(destination)?.verification.horizonMs;
      const limit = this.#lanes.roomOf(destination);
      if (horizonMs === undefined || limit <= 0) continue;
      const leased = await leaseUnraised(this.#options.db, { destination, horizonMs, limit, leaseMs: this.#leaseMs });
      this.#lanes.taken(leased.length, limit, destination);
      for (const stored of leased) this.#begin(stored, { mayAsk: false });
      taken += leased.length;
    }
    return taken;
  }

  #begin(stored: StoredDelivery, { mayAsk }: { mayAsk: boolean }): void {
    this.#lanes.begin(stored.destination);
    const work = this.#verifyOne(stored, mayAsk).finally(() => {
      this.#underWay.delete(work);
      this.#lanes.end(stored.destination);
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
      if (asked === undefined) return await this.#notAsked(stored);
      await this.#settle(stored, asked, target);
    } catch (error) {
      const fields = { err: error, event_id: stored.eventId, destination: stored.destination };
      this.#options.logger.error(fields, 'uncertain delivery not verified');
      this.#lanes.rest(stored.destination, refusedWaitMs);
      await giveBack(this.#options.db, stored, brokenWaitMs).catch(() => undefined);
    }
  }

  async #notAsked(stored: StoredDelivery): Promise<void> {
    this.#lanes.rest(stored.destination, refusedWaitMs);
    await giveBack(this.#options.db, stored, refusedWaitMs);
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
    return isToBeRaised(stored, operation, { target, crowded: mayAsk }) ? { result: { kind: 'unknown', code: 'not_asked' } } : undefined;
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
  async #settle(leased: StoredDelivery, asked: Asked, target: VerifiedTarget): Promise<void> {
    const { db, logger, onChange, relayWake } = this.#options;
    const { result, note } = asked;
    const attemptsAllowed = await target.attempts(leased);
    const written = await db.transaction(async (tx) => {
      const stored = await lockStored(tx, leased);
      const operation = stored && firstUncertain(stored);
      const key = firstUncertain(leased)?.operationKey ?? '';
      let change: StoredChange | undefined;
      if (stored && holdsLease(stored, leased) && operation?.operationKey === key) {
        const answered = { stored, operation, attemptsAllowed, note };
        const verdict = lookupVerdict(answered, result, { target, beganAtMs: leased.resolvedAt.getTime(), random: Math.random() });
        change = verdictChange(answered, verdict, target);
      } else if (stored && result?.kind === 'found') {
        change = await lateFound(tx, { stored, operationKey: key, ref: result.ref, attemptsAllowed, note, target });
        if (change === undefined) foundTooLate(logger, { stored, operationKey: key, ref: result.ref });
      }
      if (change === undefined) {
        if (note) await appendNotes(tx, [{ ...note, operationKey: key, late: true }]);
        return undefined;
      }
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
