import { setTimeout as delay } from 'node:timers/promises';
import { isFinal, type LeadPayload } from '#contracts';
import { type Coalescer, crashPoint, crashPointSoon, type Span } from '#runtime';
import type { KnownContact } from './contacts/contacts.js';
import type { DestinationControl } from './destination/control.js';
import { changedByPerson, type Outcome } from './outcome.js';
import type { Call, Rest } from './policy/conclude.js';
import { decide, type Verdict } from './policy/decide.js';
import { leaseExpired } from './policy/expire-lease.js';
import type { Reporter } from './reporter.js';
import { cleanOptional, cleanText } from './sql/clean-text.js';
import type { Mark } from './sql/leases.js';
import { canLookUp, type Target } from './target.js';
import type { OperationWork, Work } from './work.js';

/**
 * How a round of calls ended: all that could be done was, the lease went away before a call, nothing may be sent now, or what becomes of the
 * rest is decided.
 */
export type Stop = { kind: 'done' } | { kind: 'lost' } | { kind: 'blocked' } | Rest;

export interface Sent {
  stop: Stop;
  calls: Call[];
}

export interface SenderOptions<E> {
  target: Target<E>;
  destination: DestinationControl;
  reporter: Reporter<E>;
  /** True when the operation was marked as being sent under a lease that outlives the call. */
  mark: Coalescer<Mark, boolean>;
  /** Writes what is done so far while the claim goes on. False: the claim was lost. */
  recordPart(work: Work<E>, calls: Call[]): Promise<boolean>;
  /** Nothing may be sent now. */
  mustWait(work: Work<E>): boolean;
}

/** A call that may be made at once. */
interface Ready {
  kind: 'ready';
  timeoutMs: number;
  probe: boolean;
  repeatable: boolean;
  contact?: KnownContact;
}

/** How long a call with a lease in hand waits for the destination's quota before it looks again whether it may still be made. */
const longestQuotaWaitMs = 1_000;

/**
 * Performs the open operations of one claimed delivery in their order, until one does not succeed. What cannot be repeated is marked before
 * and recorded after, so that a crash leaves at most the marked one in doubt. Of the rest the whole sequence is one claim and one record: a
 * crash repeats it with the same keys, and marked, so that a call that kills its process is found out.
 */
export class Sender<E> {
  readonly #options: SenderOptions<E>;

  constructor(options: SenderOptions<E>) {
    this.#options = options;
  }

  async send(work: Work<E>, payload: LeadPayload | undefined): Promise<Sent> {
    const { target, recordPart } = this.#options;
    const open = work.operations.filter((operation) => !isFinal(operation.state));
    const calls: Call[] = [];
    for (const operation of open) {
      const ready = await this.#ready(work, operation);
      if (ready.kind !== 'ready') return { stop: ready, calls };
      const call = await this.#call(work, operation, { ...ready, payload });
      calls.push(call);
      if (call.verdict.state !== 'succeeded') return { stop: { kind: 'done' }, calls };
      operation.state = 'succeeded';
      operation.ref = call.verdict.ref ?? operation.ref;
      if (target.nativeIdempotency || operation === open.at(-1)) continue;
      if (!(await recordPart(work, [...calls]))) return { stop: { kind: 'lost' }, calls: [] };
      for (const done of calls) done.operation.attempts = done.number;
      calls.length = 0;
    }
    return { stop: { kind: 'done' }, calls };
  }

  /**
   * The lease first, then the destination, and the mark last: who waits for a quota has begun no call. What it admits is marked and sent, or
   * its place is given back.
   */
  async #ready(work: Work<E>, operation: OperationWork): Promise<Ready | Stop> {
    const { target, destination, mustWait } = this.#options;
    if (operation.attempts - operation.attemptsBefore >= work.plan.attempts) return { kind: 'run_out', limit: 'attempts' };
    const contact = operation.kind === work.plan.contact?.kind ? work.contact : undefined;
    const repeatable = target.nativeIdempotency || (target.repeatable?.(operation, contact) ?? false);
    for (;;) {
      const timeoutMs = Math.min(target.timeoutMs, Math.floor(work.deadlineAt - performance.now()));
      if (timeoutMs <= 0) return { kind: 'run_out', limit: 'deadline' };
      if (mustWait(work)) return { kind: 'blocked' };
      if (!outlivesCall(work, timeoutMs)) return { kind: 'lost' };
      const probe = destination.mode === 'probing';
      const admission = destination.admit({ operationKey: operation.operationKey, retry: isRetry(operation) });
      if (admission.kind === 'go') {
        const ready = await this.#marked(work, operation, { kind: 'ready', timeoutMs, probe, repeatable, contact });
        if (ready !== 'stale') return ready;
        continue;
      }
      if (admission.kind === 'blocked') return admission;
      if (admission.reason === 'retry_budget') return { kind: 'later', code: admission.reason, delayMs: admission.delayMs };
      await delay(Math.min(admission.delayMs, longestQuotaWaitMs), undefined, { ref: false });
    }
  }

  /**
   * Marks an admitted call where it has to be. The mark is committed before the first byte leaves. `stale`: it took so long that the call has
   * to be admitted anew, and marked anew, since its time counts from the mark.
   */
  async #marked(work: Work<E>, operation: OperationWork, ready: Ready): Promise<Ready | Stop | 'stale'> {
    const { destination } = this.#options;
    if (ready.repeatable && !wasLost(operation)) return ready;
    let stop: Stop | 'stale' | undefined = { kind: 'lost' };
    try {
      stop = await this.#mark(work, operation, ready);
    } finally {
      if (stop !== undefined) destination.withdraw(operation.operationKey);
    }
    return stop ?? ready;
  }

  /** Undefined: it may be sent. The mark may have waited for the database: until then its claim may have become another's, and the call forbidden. */
  async #mark(work: Work<E>, { operationKey }: OperationWork, { timeoutMs }: Ready): Promise<Stop | 'stale' | undefined> {
    const { destination, mustWait } = this.#options;
    if (!(await this.#options.mark({ work, operationKey, timeoutMs }))) return { kind: 'lost' };
    crashPoint('marked');
    if (!outlivesCall(work, timeoutMs)) return { kind: 'lost' };
    if (work.deadlineAt <= performance.now()) return { kind: 'run_out', limit: 'deadline' };
    if (mustWait(work)) return { kind: 'blocked' };
    return destination.isStale(operationKey) ? 'stale' : undefined;
  }

  async #call(work: Work<E>, operation: OperationWork, ready: Ready & { payload?: LeadPayload }): Promise<Call> {
    const { reporter, destination } = this.#options;
    const { operationKey } = operation;
    const number = operation.attempts + 1;
    const span = reporter.beginCall(work, operation, number);
    const startedAt = performance.now();
    const outcome = await this.#perform(work, operation, { ...ready, span });
    const durationMs = performance.now() - startedAt;
    crashPoint('answered');
    const verdict = await this.#judge(work, operation, { outcome, ready });
    if (outcome.notCalled) destination.withdraw(operationKey);
    else destination.report({ operationKey, outcome });
    const { traceId, spanId } = span.context;
    const call: Call = { operation, number, outcome, verdict, startedAt, durationMs, traceId, spanId };
    reporter.endCall(call, span);
    return call;
  }

  async #judge(work: Work<E>, operation: OperationWork, { outcome, ready }: { outcome: Outcome; ready: Ready }): Promise<Verdict> {
    const { target, destination } = this.#options;
    const authScope = outcome.kind === 'auth' ? await destination.authScope(outcome) : undefined;
    return decide(outcome, {
      repeatable: ready.repeatable,
      canLookUp: canLookUp(target, operation.kind),
      doubtful: operation.sentAtMs !== undefined,
      attempt: operation.attempts - operation.attemptsBefore + 1,
      attempts: work.plan.attempts,
      leftMs: work.deadlineAt - performance.now(),
      probe: ready.probe,
      authScope,
      backoff: target.backoff,
      random: Math.random(),
    });
  }

  async #perform(work: Work<E>, operation: OperationWork, call: Ready & { payload?: LeadPayload; span: Span }): Promise<Outcome> {
    const { payload, span, timeoutMs, contact } = call;
    const refs: Record<string, string> = {};
    for (const { kind, ref } of work.operations) if (ref !== undefined) refs[kind] = ref;
    const { requestHash, mappingVersion } = operation;
    const pinned = requestHash === undefined ? undefined : { requestHash, mappingVersion };
    try {
      const endsAt = performance.now() + timeoutMs;
      const kept = await this.#keptFrom(operation, call);
      if (kept !== undefined) return kept;
      const { compared } = operation;
      const rest = { trace: span.context, timeoutMs: compared === undefined ? timeoutMs : endsAt - performance.now() };
      const context = { event: work.event, payload, attemptId: work.attemptId, refs, pinned, contact, compared, ...rest };
      const answer = this.#options.target.perform(operation, context);
      crashPointSoon('sent');
      return cleaned(await answer);
    } catch (error) {
      this.#options.reporter.threw(work, error);
      return { kind: 'uncertain', code: 'connector_threw' };
    }
  }

  /** What was approved for a record as it was compared is not sent to another one: people work there between two calls. Undefined: it may be sent. */
  async #keptFrom({ kind, ref, compared }: OperationWork, { contact, timeoutMs }: Ready): Promise<Outcome | undefined> {
    if (compared === undefined) return undefined;
    if (contact?.ref !== undefined && ref !== undefined && contact.ref !== ref) return { ...changedByPerson, notCalled: true };
    const since = await this.#options.target.sinceCompared?.({ kind, ref: ref ?? contact?.ref, compared }, timeoutMs);
    if (since === 'changed') return { ...changedByPerson, notCalled: true };
    // It was asked and did not say: a call as any other, that spends what one may.
    return since === 'same' ? undefined : { kind: 'transient', code: 'not_read', provablyNotExecuted: true };
  }
}

/**
 * Another call after one that failed. Not one after a call that spent no attempt (throttled, refused with everybody): the block, its probes
 * and the ramp keep those apart. Nor what a process that died may have sent: a crash must not make its leads wait for a budget.
 */
const isRetry = ({ attempts, attemptsBefore, failedWith }: OperationWork): boolean =>
  attempts > attemptsBefore && failedWith !== undefined && failedWith !== leaseExpired;

/** The claim is ours for as long as the call may take. */
const outlivesCall = (work: Work<unknown>, timeoutMs: number): boolean => !work.lost && work.leaseUntil - performance.now() >= timeoutMs;

/** Its last claim ended with its process. Its calls are marked, so that another loss tells whether they had begun. */
const wasLost = ({ failedWith }: OperationWork): boolean => failedWith === leaseExpired;

/** Whatever text a provider put in is made fit for the table before it goes on. */
function cleaned(outcome: Outcome): Outcome {
  const providerRequestId = cleanOptional(outcome.providerRequestId);
  switch (outcome.kind) {
    case 'succeeded':
      return { ...outcome, ref: cleanOptional(outcome.ref), providerRequestId };
    case 'duplicate':
      return { ...outcome, ref: cleanText(outcome.ref), providerRequestId };
    case 'erased':
      return { ...outcome, providerRequestId };
    default:
      return { ...outcome, code: cleanText(outcome.code), providerRequestId };
  }
}
