import type { RetryTier } from '#contracts';
import type { OutboxRow } from '#messaging';
import type { TraceContext } from '#runtime';
import type { LookupDoor } from './destination/lookup-door.js';
import type { LookupResult } from './outcome.js';
import type { RecordsRead } from './replays/records-route.js';
import type { StoredDelivery } from './stored-delivery.js';
import type { LookupContext, PlannedOperation, Verification } from './target.js';

/** A target as sweeper, verifier and routes see it: by its rows alone, without a record. */
export interface SweptTarget {
  /** Label of metrics and the name that holds go by: a destination's name, or `notifier`. */
  name: string;
  nativeIdempotency: boolean;
  /** A retry tier of the group: a wake-up goes to the smallest that its wait fits in. */
  wakeTopic: (tier: RetryTier) => string;
  dlqTopic: string;
  /** Of the mapping that requests are made by now; absent: the target has none. */
  mappingVersion?: number;
  /** Limit of one call, as the engine has it, in milliseconds. */
  timeoutMs: number;
  verification: Verification;
  canLookUp(kind: string): boolean;
  /** Calls of one operation at most, by the lead's policy. */
  attempts(stored: StoredDelivery): number | Promise<number>;
  /** The operations of a delivery that was never claimed here, in declared order. */
  operations(eventId: string): PlannedOperation[];
  /** Outbox rows to be written together with a final state; `stored` carries that state. */
  resolved(stored: StoredDelivery): OutboxRow[] | Promise<OutboxRow[]>;
}

export type OlderRecord = 'change' | 'keep';

/** A target whose operations this process can look up. */
export interface VerifiedTarget extends SweptTarget {
  /** Absent: uncertain deliveries stay so until a person decides. */
  lookup?(operation: PlannedOperation, context: LookupContext): Promise<LookupResult>;
  /**
   * A record of this kind that a lookup finds may be older than the call, since it is looked for by the person and not by the call: that the
   * lead's fields are in it is not known. `change`: they are written to it, by its id, which may be repeated. `keep`: it is taken as it is.
   */
  older?(kind: string): OlderRecord | undefined;
  /** Stands before each lookup; absent: none is held back. */
  lookups?: LookupDoor;
  /** Records by their references, without what is in them; absent: they cannot be read. */
  read?(query: { kind: string; refs: readonly string[]; timeoutMs: number; trace?: TraceContext }): Promise<RecordsRead>;
  /** Limit of one lookup in milliseconds; default `timeoutMs`. */
  lookupTimeoutMs?: number;
  /** Lookups of this process at once; default 4. */
  lookupsAtOnce?: number;
}
