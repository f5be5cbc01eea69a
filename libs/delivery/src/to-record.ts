import { isFinal } from '#contracts';
import type { OutboxRow } from '#messaging';
import type { TraceContext } from '#runtime';
import type { Call, ConcludedOperation, Conclusion } from './policy/conclude.js';
import type { CallRecord, DeliveryRecord, OperationRecord } from './sql/record.js';
import type { OperationReport, Target } from './target.js';
import { databaseNowMs, type Work } from './work.js';

/** The rows of one concluded claim; a final state brings what the target announces. */
export function toRecord<E>(work: Work<E>, conclusion: Conclusion, target: Target<E>): DeliveryRecord {
  return {
    attemptId: work.attemptId,
    eventId: work.plan.eventId,
    destination: work.plan.destination,
    state: conclusion.state,
    class: conclusion.class,
    code: conclusion.code,
    delayMs: conclusion.delayMs,
    traceparent: work.span?.context.traceparent,
    operations: conclusion.operations.map(toOperationRecord),
    outbox: announcement(work, conclusion, target),
  };
}

/** The rows of the calls made so far, while the claim goes on with the next operation. */
export function toPartialRecord<E>(work: Work<E>, calls: readonly Call[]): DeliveryRecord {
  return {
    attemptId: work.attemptId,
    eventId: work.plan.eventId,
    destination: work.plan.destination,
    state: 'in_flight',
    operations: calls.map((call) => toOperationRecord({ operation: call.operation, state: call.verdict.state, call })),
    outbox: [],
  };
}

function toOperationRecord({ operation, state, call }: ConcludedOperation): OperationRecord {
  const record: OperationRecord = { operationKey: operation.operationKey, state };
  if (call === undefined) return record;
  const { outcome, verdict } = call;
  if (outcome.kind === 'succeeded') record.ref = outcome.ref;
  if (verdict.state === 'waiting') record.class = verdict.class;
  if (verdict.state === 'waiting' || verdict.state === 'uncertain') record.code = verdict.code;
  record.requestHash = outcome.requestHash;
  record.mappingVersion = outcome.mappingVersion;
  record.call = toCallRecord(call);
  return record;
}

function toCallRecord({ outcome, ...call }: Call): CallRecord {
  return {
    number: call.number,
    startedAgoMs: performance.now() - call.startedAt,
    durationMs: call.durationMs,
    outcome: outcome.kind,
    class: outcome.kind === 'permanent' ? outcome.class : undefined,
    code: 'code' in outcome ? outcome.code : undefined,
    status: outcome.status,
    providerRequestId: outcome.providerRequestId,
    traceId: call.traceId,
    spanId: call.spanId,
  };
}

function announcement<E>(work: Work<E>, conclusion: Conclusion, target: Target<E>): OutboxRow[] {
  const { state } = conclusion;
  const final = state === 'delivered' || (state !== 'accepted' && isFinal(state));
  if (!final || work.span === undefined) return [];
  return target.resolved({
    event: work.event,
    plan: work.plan,
    state,
    class: conclusion.class,
    code: conclusion.code,
    operations: reports(work, conclusion),
    resolvedAt: new Date(Math.round(databaseNowMs(work))),
    trace: work.span.context satisfies TraceContext,
    record: work.received.receipt.record,
  });
}

function reports<E>(work: Work<E>, conclusion: Conclusion): OperationReport[] {
  return work.operations.map((operation) => {
    const after = conclusion.operations.find((one) => one.operation === operation);
    const outcome = after?.call?.outcome;
    return {
      kind: operation.kind,
      operationKey: operation.operationKey,
      state: after?.state ?? operation.state,
      ref: outcome?.kind === 'succeeded' ? (outcome.ref ?? operation.ref) : operation.ref,
      attempts: after?.call?.number ?? operation.attempts,
    };
  });
}
