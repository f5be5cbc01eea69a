import { type DeliveryState, type FailureClass, isFinal, type OperationState } from '#contracts';
import { type OutboxRow, RegistryUnavailable } from '#messaging';
import type { Logger } from '#runtime';
import { deadLetterRow } from './dead-letter-row.js';
import type { StoredDelivery, StoredOperation } from './stored-delivery.js';
import type { SweptTarget } from './swept-target.js';
import { tierFor, wakeRow } from './wake-row.js';

/** A call or lookup to be noted in the log of attempts. */
export interface AttemptNote {
  attemptId: string;
  number: number;
  /** How long ago it began, in milliseconds. */
  startedAgoMs: number;
  durationMs?: number;
  outcome: string;
  class?: FailureClass;
  code?: string;
  ref?: string;
  traceId?: string;
  spanId?: string;
}

/** What becomes of one operation. What is not named keeps its value, except class and code, which are replaced. */
export interface OperationChange {
  operation: StoredOperation;
  state: OperationState;
  ref?: string;
  class?: FailureClass;
  code?: string;
  /** Counts a call. */
  attempted?: boolean;
  absences?: number;
  /** Notes that it was looked up now. */
  lookedUp?: boolean;
  /** When a call began that may have been executed; epoch milliseconds. */
  sendingAtMs?: number;
  /** Such a call stands as it was; otherwise it does only for `uncertain` and `succeeded`. */
  keepsSent?: boolean;
  note?: AttemptNote;
}

/** What a locked delivery becomes by other means than a claim. */
export interface StoredChange {
  stored: StoredDelivery;
  state: DeliveryState;
  class?: FailureClass;
  code?: string;
  operations: OperationChange[];
  /** Until the next attempt or lookup. Absent: no time of its own; `Infinity`: none ever. */
  dueInMs?: number;
  /** Writes a wake-up for that time. */
  wake?: boolean;
  /** Its owner is told that it stays unanswered. */
  raise?: boolean;
  /** The person's record, which may be older than the call: it is known from now on, and none of the fields counts as written. */
  olderContact?: { operationKey: string; personKey: string; ref: string };
  /** A person is to decide about this operation, or about the delivery as a whole. */
  deadLetter?: { class: FailureClass; code?: string; operationKey?: string };
}

/** The delivery as it is after the change: what is announced. */
export function afterChange({ stored, ...change }: StoredChange): StoredDelivery {
  const operations = stored.operations.map((operation): StoredOperation => {
    const own = change.operations.find((one) => one.operation === operation);
    if (own === undefined) return operation;
    const attempts = operation.attempts + Number(own.attempted ?? false);
    return { ...operation, state: own.state, ref: own.ref ?? operation.ref, attempts, class: own.class, code: own.code };
  });
  return { ...stored, state: change.state, class: change.class, code: change.code, operations };
}

type Destined = Pick<SweptTarget, 'wakeTopic' | 'dlqTopic' | 'resolved'>;

/** The outbox rows that go with a change: wake-up, dead letter, and the result where the state is final. */
export async function outboxOf(change: StoredChange, target: Destined, logger: Logger): Promise<OutboxRow[]> {
  const rows: OutboxRow[] = [];
  if (change.wake) rows.push(wakeUpRow(change.stored, target.wakeTopic, change.dueInMs ?? 0));
  const after = afterChange(change);
  if (change.deadLetter) rows.push(deadLetterOf(after, target.dlqTopic, change.deadLetter));
  if (isEnd(change.state)) rows.push(...(await announced(after, target, logger)));
  return rows;
}

/** An event that cannot be read any more must not keep its delivery open: it ends without an announcement, which is logged. */
async function announced(after: StoredDelivery, target: Pick<SweptTarget, 'resolved'>, logger: Logger): Promise<OutboxRow[]> {
  try {
    return await target.resolved(after);
  } catch (error) {
    if (error instanceof RegistryUnavailable) throw error;
    logger.error({ err: error, event_id: after.eventId, destination: after.destination }, 'end of a delivery not announced');
    return [];
  }
}

const isEnd = (state: DeliveryState): boolean => state === 'delivered' || (state !== 'accepted' && isFinal(state));

/** Hands a delivery to the smallest tier that its wait fits in, with the event's own bytes; due at once where `dueInMs` is 0. */
export function wakeUpRow(stored: StoredDelivery, wakeTopic: SweptTarget['wakeTopic'], dueInMs: number): OutboxRow {
  return wakeRow({
    topic: wakeTopic(tierFor(dueInMs) ?? '5m'),
    key: stored.recordKey,
    value: stored.event,
    eventId: stored.eventId,
    destination: stored.destination,
    notBeforeMs: dueInMs > 0 ? stored.resolvedAt.getTime() + dueInMs : undefined,
    deadlineAtMs: stored.deadlineAt.getTime(),
    traceparent: stored.traceparent,
    tracestate: stored.tracestate,
  });
}

function deadLetterOf(stored: StoredDelivery, topic: string, reason: NonNullable<StoredChange['deadLetter']>): OutboxRow {
  const operation = stored.operations.find(({ operationKey }) => operationKey === reason.operationKey);
  return deadLetterRow({
    topic,
    key: stored.recordKey,
    value: stored.event,
    eventId: stored.eventId,
    destination: stored.destination,
    operationKey: reason.operationKey,
    attempts: operation?.attempts ?? 0,
    firstSeenAtMs: stored.firstSeenAt.getTime(),
    deadlineAtMs: stored.deadlineAt.getTime(),
    class: reason.class,
    code: reason.code,
    ref: operation?.ref,
    traceparent: stored.traceparent,
    tracestate: stored.tracestate,
  });
}
