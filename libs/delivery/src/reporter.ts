import { type Logger, metrics, parseTraceContext, type Span, type SpanOptions, type Telemetry } from '#runtime';
import type { Call, Conclusion } from './policy/conclude.js';
import type { LateAnswer } from './sql/late-answer.js';
import type { DeliveryRecord } from './sql/record.js';
import { databaseNowMs, type OperationWork, type Work } from './work.js';

export interface ReporterOptions {
  /** Label of metrics and logs. */
  target: string;
  group: string;
  telemetry: Telemetry;
  logger: Logger;
}

/** What is seen of a delivery: its spans, its metrics and its one log line. */
export class Reporter<E> {
  readonly #options: ReporterOptions;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  /** Begins the process span. Attempt 1 goes on in the caller's trace; a retry is a root of its own, linked to the first and the last. */
  begin(work: Work<E>): void {
    const { topic, partition } = work.received.receipt.record;
    work.span ??= this.#options.telemetry.startSpan(`process ${topic}`, {
      kind: 'consumer',
      ...origin(work),
      startTime: Date.now() - (performance.now() - work.takenAt),
      attributes: {
        'messaging.system': 'kafka',
        'messaging.operation.name': 'process',
        'messaging.destination.name': topic,
        'messaging.destination.partition.id': String(partition),
        'messaging.consumer.group.name': this.#options.group,
        'lead.event_id': work.plan.eventId,
        'lead.destination': work.plan.destination,
      },
    });
  }

  beginCall(work: Work<E>, operation: OperationWork, number: number): Span {
    metrics.deliveriesInFlight.inc({ destination: this.#options.target });
    return this.#options.telemetry.startSpan(`${operation.kind} ${this.#options.target}`, {
      kind: 'client',
      parent: work.span?.context,
      attributes: {
        'lead.operation_key': operation.operationKey,
        'lead.attempt': number,
        'lead.attempt_id': work.attemptId,
      },
    });
  }

  endCall(call: Call, span: Span): void {
    const destination = this.#options.target;
    const { outcome, durationMs } = call;
    metrics.deliveriesInFlight.dec({ destination });
    metrics.attempts.inc({ destination, outcome: outcome.kind, error_class: outcome.kind === 'permanent' ? outcome.class : '' });
    metrics.attemptDuration.observe({ destination }, durationMs / 1_000);
    metrics.crmResponses.inc({ destination, status_class: statusClass(outcome.status) });
    span.set({ 'http.response.status_code': outcome.status, 'lead.outcome': outcome.kind });
    span.end('code' in outcome ? { error: outcome.code } : undefined);
  }

  /** A connector broke its promise not to throw. */
  threw(work: Work<E>, error: unknown): void {
    this.#options.logger.error({ err: error, destination: this.#options.target, event_id: work.plan.eventId }, 'connector threw');
  }

  /** The unit of work is recorded: ends its span, counts what ended, writes its line. */
  end(work: Work<E>, conclusion: Conclusion, calls: readonly Call[]): void {
    const { state, code } = conclusion;
    const traceId = work.span?.context.traceId;
    work.span?.end(code === undefined ? undefined : { error: code });
    work.span = undefined;
    if (state === 'delivered' && !work.plan.test) this.#delivered(work, conclusion);
    const last = calls.at(-1);
    this.#options.logger.unit({
      unit: 'delivery',
      event_id: work.plan.eventId,
      lead_ref: work.plan.leadRef,
      destination: work.plan.destination,
      operation_key: last?.operation.operationKey,
      operations: calls.map((call) => call.operation.kind),
      attempt: last?.number,
      attempt_id: work.attemptId,
      decision: state,
      outcome: last?.outcome.kind,
      status: last?.outcome.status,
      provider_request_id: last?.outcome.providerRequestId,
      error_class: conclusion.class,
      error_code: code,
      retry_in_ms: conclusion.delayMs,
      duration_ms: Math.round(performance.now() - work.takenAt),
      trace_id: traceId,
      topic: work.received.receipt.record.topic,
    });
  }

  /** The answer came when the claim was another's already. */
  late(record: DeliveryRecord, { kind, secondReference }: LateAnswer): void {
    const fields = { event_id: record.eventId, destination: record.destination, attempt_id: record.attemptId };
    this.#options.logger.warn({ ...fields, decision: kind }, 'answer came after its lease');
    this.secondReference(record, secondReference);
  }

  /** Whichever of the two answers was written last found the other's reference. */
  secondReference({ eventId, destination, attemptId }: DeliveryRecord, operationKeys: readonly string[]): void {
    const fields = { event_id: eventId, destination, attempt_id: attemptId };
    for (const operation_key of operationKeys) {
      this.#options.logger.error(
        { ...fields, operation_key, reason: 'duplicate' },
        'destination gave a second reference for one operation',
      );
    }
  }

  /** A replayed record that may not be applied; its delivery stays as it is. */
  refused({ plan }: Work<E>, code: string): void {
    const fields = { event_id: plan.eventId, destination: plan.destination, error_code: code };
    metrics.replaysRefused.inc({ destination: this.#options.target, code });
    this.#options.logger.warn(fields, 'replayed record refused');
  }

  /** Ends the span of a work that leaves without a record. */
  leave(work: Work<E>, reason: string): void {
    work.span?.end({ error: reason });
    work.span = undefined;
  }

  #delivered(work: Work<E>, conclusion: Conclusion): void {
    const destination = this.#options.target;
    const attempts = Math.max(
      1,
      ...conclusion.operations.map(({ operation, call }) => operation.attempts + (call?.verdict.spends ? 1 : 0)),
    );
    metrics.attemptsPerLead.observe({ destination }, attempts);
    // What a person had sent again was late before: it says nothing of how fast we are.
    if (work.replayed) return;
    metrics.e2e.observe({ destination }, Math.max(databaseNowMs(work) - work.plan.submittedAt.getTime(), 0) / 1_000);
  }
}

function origin<E>(work: Work<E>): Pick<SpanOptions, 'parent' | 'links'> {
  if (work.first) return { parent: work.received.trace };
  const first = parseTraceContext(work.trace);
  const previous = parseTraceContext({ traceparent: work.trace.previous });
  const links = [];
  if (first) links.push({ context: first, attributes: { 'lead.link': 'first' } });
  if (previous) links.push({ context: previous, attributes: { 'lead.link': 'previous' } });
  return { links };
}

function statusClass(status: number | undefined): string {
  return status === undefined ? 'none' : `${Math.floor(status / 100)}xx`;
}
