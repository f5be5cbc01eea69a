import type { DeliveryState, FailureClass, LeadPayload, OperationState } from '#contracts';
import type { ConsumedRecord, OutboxRow } from '#messaging';
import type { TraceContext } from '#runtime';
import type { KnownContact } from './contacts/contacts.js';
import type { LookupResult, Outcome } from './outcome.js';
import type { ComparedRecord, SinceCompared } from './replays/changed-since.js';

/** One destination action. Its key is stable over every attempt and replay. */
export interface PlannedOperation {
  /** `contact`, `lead`, a notification template … unique within the delivery. */
  kind: string;
  operationKey: string;
}

/** What an event asks of a target: one delivery with its operations in the order they must happen. */
export interface PlannedDelivery {
  eventId: string;
  /** With the event id the primary key of the delivery. A destination name; the notifier puts scope, channel and recipient in it. */
  destination: string;
  leadRef: string;
  submittedAt: Date;
  deadlineAt: Date;
  operations: readonly PlannedOperation[];
  /** True: `perform` gets the vault's payload. */
  needsVault: boolean;
  /** True: nothing is sent of a lead whose consent was withdrawn. Known from the vault alone. */
  needsConsent?: boolean;
  /** It must not be sent as things are: it ends as this without a call. What an earlier call of it may have done is looked up first. */
  refused?: { class: FailureClass; code: string };
  /** Test leads stay out of business metrics. */
  test: boolean;
  /** Calls of one operation at most, by the lead's policy. */
  attempts: number;
  /** The operation that writes the person's record, and whose person it is (keyed hash): one writer per person and destination at a time. */
  contact?: { kind: string; personKey: string };
}

/** When a request without an answer may be taken for not executed: after `timeout + maxExecution + searchLag`, by two lookups a lag apart. */
export interface Verification {
  /** How long the destination may still work on a request whose caller gave up. Default 60,000. */
  maxExecutionMs: number;
  /** Until a search finds what was written. Default 30,000. */
  searchLagMs: number;
  /** Unanswered for this long it is raised as `unverified_write`. Default 1,800,000. */
  horizonMs: number;
}

/** Full-jitter exponential back-off: up to `baseMs` after the first call, twice as much after each, `capMs` at most. */
export interface Backoff {
  baseMs: number;
  capMs: number;
}

export interface LookupContext {
  eventId: string;
  /** Keyed hash of the person, where the operation is the contact. */
  personKey?: string;
  trace?: TraceContext;
  timeoutMs: number;
}

export interface PerformContext<E> {
  event: E;
  /** Present where the plan said `needsVault`. */
  payload?: LeadPayload;
  attemptId: string;
  /** What the first recorded call of this operation sent. A request that came out different must not be sent: `permanent`. */
  pinned?: { requestHash: string; mappingVersion?: number };
  /** References of the delivery's operations that succeeded, by kind. */
  refs: Readonly<Record<string, string>>;
  /** Of the operation `plan.contact.kind`: what is known of the person's record there. */
  contact?: KnownContact;
  /** The record as it was compared when the change was approved: another one must not be written. */
  compared?: ComparedRecord;
  /** Context of the client span: what goes out as `traceparent`. */
  trace: TraceContext;
  /** min(configured, time left to the deadline), in milliseconds. */
  timeoutMs: number;
}

/** The record that an operation changes, as it was compared. */
export interface ComparedOperation {
  kind: string;
  ref?: string;
  compared: ComparedRecord;
}

export interface OperationReport extends PlannedOperation {
  state: OperationState;
  ref?: string;
  /** Calls made so far. */
  attempts: number;
}

/** A delivery that has just reached a final state. */
export interface ResolvedDelivery<E> {
  event: E;
  plan: PlannedDelivery;
  /** 1, and one more after each approved repair. */
  generation: number;
  state: DeliveryState;
  class?: FailureClass;
  code?: string;
  operations: readonly OperationReport[];
  /** The database's clock. */
  resolvedAt: Date;
  /** Context of the process span; travels on with what is announced. */
  trace: TraceContext;
  /** The record that carried the event: its key bytes are the key of what is announced. */
  record: ConsumedRecord;
}

/**
 * Where deliveries go. One engine serves one target; everything a target says is pure except `perform`, which must not throw: what went
 * wrong is an {@link Outcome}. A throw is recorded as `uncertain` with code `connector_threw`.
 */
export interface Target<E> {
  /** Label of metrics and logs: a destination's name, or `notifier`. */
  name: string;
  /** Calls in flight at once. */
  concurrency: number;
  /** Limit of one call in milliseconds, connect included; must be shorter than the lease. */
  timeoutMs: number;
  /** True: repeating the same request with the same key has no second effect. */
  nativeIdempotency: boolean;
  verification: Verification;
  backoff: Backoff;
  /** `undefined`: not for this target; the record is settled. */
  plan(event: E, record: ConsumedRecord): PlannedDelivery | undefined;
  perform(operation: PlannedOperation, context: PerformContext<E>): Promise<Outcome>;
  /** Names of the fields that the contact operation would write, never their values; needed where `plan.contact` is set. */
  contactFields?(event: E, payload: LeadPayload | undefined): readonly string[];
  /** True: this very call may be repeated without a key, because it changes a named record. It is neither marked nor ever `uncertain`. */
  repeatable?(operation: PlannedOperation, contact: KnownContact | undefined): boolean;
  /** Whether anybody has written a record since it was compared. Absent: it cannot be said here. Must not throw. */
  sinceCompared?(record: ComparedOperation, timeoutMs: number): Promise<SinceCompared>;
  /** Absent: nothing can be looked up here. Must not throw; `unknown` for a kind that cannot be. */
  lookup?(operation: PlannedOperation, context: LookupContext): Promise<LookupResult>;
  /** Which kinds `lookup` can find. Default: all where there is a `lookup`. */
  canLookUp?(kind: string): boolean;
  /** A cheap call that proves credentials and reachability; absent: there is none. Must not throw. */
  check?(): Promise<{ ok: boolean; code?: string }>;
  /** Outbox rows to be written together with the final state; none is fine. */
  resolved(delivery: ResolvedDelivery<E>): OutboxRow[];
}

/** Whether the target can be asked for its record of an operation of this kind. */
export function canLookUp<E>(target: Pick<Target<E>, 'lookup' | 'canLookUp'>, kind: string): boolean {
  return target.lookup !== undefined && (target.canLookUp?.(kind) ?? true);
}
