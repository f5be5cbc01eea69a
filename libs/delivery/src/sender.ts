import { isFinal, type LeadPayload } from '#contracts';
import type { Coalescer, Span } from '#runtime';
import type { Outcome } from './outcome.js';
import type { Call } from './policy/conclude.js';
import { decide } from './policy/decide.js';
import type { Reporter } from './reporter.js';
import { cleanOptional, cleanText } from './sql/clean-text.js';
import type { Mark } from './sql/leases.js';
import type { Target } from './target.js';
import type { OperationWork, Work } from './work.js';

/** How a round of calls ended: all that could be done was, the deadline came first, or the lease went away before a call. */
export type SendEnd = 'done' | 'deadline' | 'lost';

export interface Sent {
  end: SendEnd;
  calls: Call[];
}

export interface SenderOptions<E> {
  target: Target<E>;
  reporter: Reporter<E>;
  /** True when the operation was marked as being sent under a lease that outlives the call. */
  mark: Coalescer<Mark, boolean>;
  /** Writes what is done so far while the claim goes on. False: the claim was lost. */
  recordPart(work: Work<E>, calls: Call[]): Promise<boolean>;
}

/**
 * Performs the open operations of one claimed delivery in their order, until one does not succeed. Without native idempotency each is
 * marked before and recorded after, so that a crash leaves at most the marked one in doubt. With it the whole sequence is one claim and one
 * record: a crash repeats it with the same keys.
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
      const timeoutMs = Math.min(target.timeoutMs, Math.floor(work.deadlineAt - performance.now()));
      if (timeoutMs <= 0) return { end: 'deadline', calls };
      if (!(await this.#mayCall(work, operation, timeoutMs))) return { end: 'lost', calls };
      const call = await this.#call(work, operation, { timeoutMs, payload });
      calls.push(call);
      if (call.verdict.state !== 'succeeded') return { end: 'done', calls };
      operation.state = 'succeeded';
      operation.ref = call.verdict.ref ?? operation.ref;
      if (target.nativeIdempotency || operation === open.at(-1)) continue;
      if (!(await recordPart(work, [call]))) return { end: 'lost', calls: [] };
      operation.attempts = call.number;
      calls.length = 0;
    }
    return { end: 'done', calls };
  }

  async #mayCall(work: Work<E>, operation: OperationWork, timeoutMs: number): Promise<boolean> {
    const outlivesCall = (): boolean => !work.lost && work.leaseUntil - performance.now() >= timeoutMs;
    if (!outlivesCall()) return false;
    if (this.#options.target.nativeIdempotency) return true;
    // The answer may have come so late that the claim it speaks of is another's by now.
    return (await this.#options.mark({ work, operationKey: operation.operationKey, timeoutMs })) && outlivesCall();
  }

  async #call(work: Work<E>, operation: OperationWork, limits: CallLimits): Promise<Call> {
    const { target, reporter } = this.#options;
    const number = operation.attempts + 1;
    const span = reporter.beginCall(work, operation, number);
    const startedAt = performance.now();
    const outcome = await this.#perform(work, operation, { ...limits, span });
    const durationMs = performance.now() - startedAt;
    const verdict = decide(outcome, { nativeIdempotency: target.nativeIdempotency, attempt: number, random: Math.random() });
    const call: Call = {
      operation,
      number,
      outcome,
      verdict,
      startedAt,
      durationMs,
      traceId: span.context.traceId,
      spanId: span.context.spanId,
    };
    reporter.endCall(call, span);
    return call;
  }

  async #perform(work: Work<E>, operation: OperationWork, { timeoutMs, payload, span }: CallLimits & { span: Span }): Promise<Outcome> {
    const refs: Record<string, string> = {};
    for (const { kind, ref } of work.operations) if (ref !== undefined) refs[kind] = ref;
    const { requestHash, mappingVersion } = operation;
    const pinned = requestHash === undefined ? undefined : { requestHash, mappingVersion };
    try {
      const context = { event: work.event, payload, attemptId: work.attemptId, refs, pinned, trace: span.context, timeoutMs };
      return cleaned(await this.#options.target.perform(operation, context));
    } catch (error) {
      this.#options.reporter.threw(work, error);
      return { kind: 'uncertain', code: 'connector_threw' };
    }
  }
}

interface CallLimits {
  timeoutMs: number;
  payload?: LeadPayload;
}

/** Whatever text a provider put in is made fit for the table before it goes on. */
function cleaned(outcome: Outcome): Outcome {
  const providerRequestId = cleanOptional(outcome.providerRequestId);
  if (outcome.kind === 'succeeded') return { ...outcome, ref: cleanOptional(outcome.ref), providerRequestId };
  if (outcome.kind === 'erased') return { ...outcome, providerRequestId };
  return { ...outcome, code: cleanText(outcome.code), providerRequestId };
}
