import type { OperationState } from '#contracts';
import type { Received } from '#messaging';
import { newEventId, type Span } from '#runtime';
import type { KnownContact } from './contacts/contacts.js';
import type { Permit } from './permits/permit.js';
import type { ComparedRecord } from './replays/changed-since.js';
import type { PlannedDelivery, PlannedOperation } from './target.js';

/** What the last call of an operation left in its row. */
export interface OperationWork extends PlannedOperation {
  state: OperationState;
  /** Calls recorded so far that counted. */
  attempts: number;
  /** Those before the last approved item. */
  attemptsBefore: number;
  /** When the last call began that may have been executed and whose end nobody knows: epoch milliseconds of the database's clock. */
  sentAtMs?: number;
  ref?: string;
  /** Its record as it was compared when somebody approved the change: it is written only while it is that one. */
  compared?: ComparedRecord;
  /** Pinned by the first recorded call. */
  requestHash?: string;
  mappingVersion?: number;
  /** Code of the last recorded call that did not succeed. */
  failedWith?: string;
}

/** Where a delivery came from by its row, for links of a retry. */
export interface FirstTrace {
  traceparent?: string;
  tracestate?: string;
  previous?: string;
}

/** One delivery in memory, from its record (or its due time) to its recorded outcome. Times are `performance.now()` unless named otherwise. */
export interface Work<E> {
  readonly received: Received<E>;
  readonly event: E;
  readonly plan: PlannedDelivery;
  /** Fences every write for this claim; new for each claim that led to a call. */
  attemptId: string;
  operations: OperationWork[];
  /** Operations that its row declares have none themselves any more, or it declares none: nothing is sent of it. */
  incomplete: boolean;
  readonly takenAt: number;
  leaseUntil: number;
  /** When the row's lease or reservation was last written. */
  leasedAt: number;
  deadlineAt: number;
  /** The same and when the delivery was first seen here, both in epoch milliseconds by the row. */
  deadlineMs: number;
  firstSeenMs: number;
  generation: number;
  /** The database's clock at the claim, in epoch milliseconds, and when that was. */
  clockMs: number;
  clockAt: number;
  /** Another process took the row. */
  lost: boolean;
  /** The one delivery that may be sent while its target is paused. */
  probe: boolean;
  /** Its record came on a replay topic: it goes behind everything live. */
  readonly replayed: boolean;
  /** What an approved item allows, until it has been claimed. */
  permit?: Permit;
  /** What is known of the person's record; this delivery is the one that may write it. */
  contact?: KnownContact;
  /** Its hold on that record's row, new with each acquisition. */
  contactHold?: string;
  /** Every operation is as new: what is sent now is attempt 1 and belongs to the caller's trace. */
  first: boolean;
  trace: FirstTrace;
  span?: Span;
}

/** Records there wake a row at its time. */
export const isRetryTopic = (topic: string): boolean => topic.includes('.retry.');

/** Approved items alone travel on such a topic. */
export const isReplayTopic = (topic: string): boolean => topic.endsWith('.replay');

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A delivery as it comes in; it is no claim yet. @throws RangeError when its event id is no UUID. */
export function newWork<E>(received: Received<E>, event: E, plan: PlannedDelivery): Work<E> {
  if (!uuid.test(plan.eventId)) throw new RangeError('the event id is not a UUID');
  const now = performance.now();
  return {
    received,
    event,
    plan,
    attemptId: newEventId(),
    operations: plan.operations.map((operation) => ({ ...operation, state: 'pending', attempts: 0, attemptsBefore: 0 })),
    incomplete: plan.operations.length === 0,
    takenAt: now,
    leaseUntil: 0,
    leasedAt: 0,
    deadlineAt: Number.POSITIVE_INFINITY,
    deadlineMs: plan.deadlineAt.getTime(),
    firstSeenMs: 0,
    generation: 1,
    clockMs: 0,
    clockAt: now,
    lost: false,
    probe: false,
    replayed: isReplayTopic(received.receipt.record.topic),
    first: true,
    trace: {},
  };
}

/** The database's time at a moment of `performance.now()` (default: now), in epoch milliseconds: its clock at the claim plus the difference. */
export function databaseNowMs(work: Work<unknown>, at = performance.now()): number {
  return work.clockMs + (at - work.clockAt);
}

/** Order in which rows are locked, the same in every statement. */
export function byRowOrder(a: Work<unknown>, b: Work<unknown>): number {
  if (a.plan.eventId !== b.plan.eventId) return a.plan.eventId < b.plan.eventId ? -1 : 1;
  if (a.plan.destination === b.plan.destination) return 0;
  return a.plan.destination < b.plan.destination ? -1 : 1;
}
