import { isFinal, type RetryTier } from '#contracts';
import type { OutboxRow } from '#messaging';
import { deadLetterRow } from './dead-letter-row.js';
import { originOf } from './dead-letters.js';
import type { Outcome } from './outcome.js';
import type { Call, ConcludedOperation, Conclusion } from './policy/conclude.js';
import type { CallRecord, DeliveryRecord, OperationRecord } from './sql/record.js';
import type { OperationReport, Target } from './target.js';
import { tierFor, wakeRow } from './wake-row.js';
import { databaseNowMs, type Work } from './work.js';

export interface RecordContext<E> {
  target: Target<E>;
  dlqTopic: string;
  wakeTopic: (tier: RetryTier) => string;
}

/** The rows of one concluded claim: what it announces, wakes and buries goes out with its state. */
export function toRecord<E>(work: Work<E>, conclusion: Conclusion, context: RecordContext<E>): DeliveryRecord {
  const dueMs = dueOf(work, conclusion, context);
  return {
    attemptId: work.attemptId,
    eventId: work.plan.eventId,
    destination: work.plan.destination,
    state: conclusion.state,
    class: conclusion.class,
    code: conclusion.code,
    dueMs,
    traceparent: work.span?.context.traceparent,
    operations: conclusion.operations.map((operation) => toOperationRecord(work, operation)),
    outbox: [
      ...announcement(work, conclusion, { target: context.target }),
      ...deadLetter(work, conclusion, context.dlqTopic),
      ...wakeUp(work, conclusion, { dueMs, wakeTopic: context.wakeTopic }),
    ],
    announcedAt: (as) => announcement(work, conclusion, { target: context.target, as }),
  };
}

/** The rows of the calls made so far, while the claim goes on with the next operation. */
export function toPartialRecord<E>(work: Work<E>, calls: readonly Call[]): DeliveryRecord {
  return {
    attemptId: work.attemptId,
    eventId: work.plan.eventId,
    destination: work.plan.destination,
    state: 'in_flight',
    operations: calls.map((call) => toOperationRecord(work, { operation: call.operation, state: call.verdict.state, call })),
    outbox: [],
  };
}

/** When a request was sent that may have been executed and whose end nobody knows, by the database's clock. */
function sentAtMs<E>(work: Work<E>, { operation, call }: ConcludedOperation): number | undefined {
  return call?.verdict.doubtful ? databaseNowMs(work, call.startedAt) : operation.sentAtMs;
}

/** Of what waits, when it is tried again; of what is uncertain, when its absence begins to count. Whole milliseconds. */
function dueOf<E>(work: Work<E>, conclusion: Conclusion, { target }: RecordContext<E>): number | undefined {
  if (conclusion.state === 'waiting') return Math.ceil(databaseNowMs(work)) + (conclusion.delayMs ?? 0);
  if (conclusion.state !== 'uncertain') return undefined;
  const uncertain = conclusion.operations.filter(({ state }) => state === 'uncertain');
  const sentMs = Math.max(...uncertain.map((operation) => sentAtMs(work, operation) ?? databaseNowMs(work)));
  return Math.ceil(sentMs + target.timeoutMs + target.verification.maxExecutionMs + target.verification.searchLagMs);
}

function toOperationRecord<E>(work: Work<E>, concluded: ConcludedOperation): OperationRecord {
  const { operation, state, call } = concluded;
  const record: OperationRecord = {
    operationKey: operation.operationKey,
    state,
    class: concluded.class,
    code: concluded.code,
    keepsSent: operation.sentAtMs !== undefined,
  };
  if (call === undefined) return record;
  const { outcome } = call;
  record.ref = refOf(outcome);
  if (call.verdict.doubtful) record.sentAtMs = sentAtMs(work, concluded);
  record.requestHash = outcome.requestHash;
  record.mappingVersion = outcome.mappingVersion;
  record.call = toCallRecord(call);
  return record;
}

function toCallRecord({ outcome, verdict, ...call }: Call): CallRecord {
  return {
    number: call.number,
    spends: verdict.spends,
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

const refOf = (outcome: Outcome | undefined): string | undefined =>
  outcome?.kind === 'succeeded' || outcome?.kind === 'duplicate' ? outcome.ref : undefined;

interface Announcing<E> {
  target: Target<E>;
  /** Default: now, in the generation that was claimed. */
  as?: { resolvedAt: Date; generation: number };
}

function announcement<E>(work: Work<E>, conclusion: Conclusion, { target, as }: Announcing<E>): OutboxRow[] {
  const { state } = conclusion;
  const final = state === 'delivered' || (state !== 'accepted' && isFinal(state));
  if (!final || work.span === undefined) return [];
  return target.resolved({
    event: work.event,
    plan: work.plan,
    generation: as?.generation ?? work.generation,
    state,
    class: conclusion.class,
    code: conclusion.code,
    operations: reports(work, conclusion),
    resolvedAt: as?.resolvedAt ?? new Date(Math.round(databaseNowMs(work))),
    trace: work.span.context,
    record: work.received.receipt.record,
  });
}

function reports<E>(work: Work<E>, conclusion: Conclusion): OperationReport[] {
  return work.operations.map((operation) => {
    const after = conclusion.operations.find((one) => one.operation === operation);
    return {
      kind: operation.kind,
      operationKey: operation.operationKey,
      state: after?.state ?? operation.state,
      ref: refOf(after?.call?.outcome) ?? operation.ref,
      attempts: attemptsAfter(operation, after?.call),
    };
  });
}

const attemptsAfter = ({ attempts }: { attempts: number }, call: Call | undefined): number => attempts + (call?.verdict.spends ? 1 : 0);

/** What a person must decide about. */
function deadLetter<E>(work: Work<E>, conclusion: Conclusion, topic: string): OutboxRow[] {
  if (conclusion.class === undefined || (conclusion.state !== 'dead' && conclusion.state !== 'expired')) return [];
  const cause = conclusion.operations.find(({ state }) => state === conclusion.state);
  const { record } = work.received.receipt;
  return [
    deadLetterRow({
      topic,
      key: record.key,
      value: record.value,
      eventId: work.plan.eventId,
      destination: work.plan.destination,
      operationKey: cause?.operation.operationKey,
      attempts: cause && attemptsAfter(cause.operation, cause.call),
      firstSeenAtMs: work.firstSeenMs,
      deadlineAtMs: work.deadlineMs,
      class: conclusion.class,
      code: conclusion.code,
      status: cause?.call?.outcome.status,
      ref: work.plan.leadRef,
      origin: originOf(record),
      traceparent: work.trace.traceparent,
      tracestate: work.trace.tracestate,
    }),
  ];
}

function wakeUp<E>(
  work: Work<E>,
  { state, delayMs = 0 }: Conclusion,
  { dueMs, wakeTopic }: { dueMs?: number; wakeTopic: (tier: RetryTier) => string },
): OutboxRow[] {
  const tier = tierFor(delayMs);
  if (state !== 'waiting' || tier === undefined) return [];
  const { record } = work.received.receipt;
  return [
    wakeRow({
      topic: wakeTopic(tier),
      key: record.key,
      value: record.value,
      eventId: work.plan.eventId,
      destination: work.plan.destination,
      notBeforeMs: dueMs,
      deadlineAtMs: work.deadlineMs,
      origin: originOf(record),
      traceparent: work.trace.traceparent,
      tracestate: work.trace.tracestate,
    }),
  ];
}
