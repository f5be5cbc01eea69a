import type { LeadAccepted, LeadPayload } from '#contracts';
import type { KnownContact, LookupResult, Outcome } from '#delivery';
import type { TraceContext } from '#runtime';

/** What a destination can do; the failure policy is chosen by it. */
export interface ConnectorCapabilities {
  /** The destination answers a repeated operation key with the stored answer. */
  nativeIdempotency: boolean;
  /** Kinds that the destination itself upserts by a key of ours. */
  upsert: readonly string[];
  /** Kinds that can be looked up. */
  lookup: readonly string[];
  /** Can list what changed in a window. */
  changedSince: boolean;
  /** Takes several operations in one request. */
  batch: boolean;
  /** Has a cheap call that proves credentials and reachability. */
  check: boolean;
}

/** One operation of one lead, ready to be sent. */
export interface OperationCall {
  kind: string;
  operationKey: string;
  event: LeadAccepted;
  payload: LeadPayload;
  /** References of the lead's earlier operations, by kind. */
  refs: Readonly<Record<string, string>>;
  /** Of a contact: what is known of the person's record there. It is then changed by its reference, without what a newer lead wrote. */
  contact?: KnownContact;
  /** What the first recorded call sent; another request must not follow it. */
  pinned?: { requestHash: string; mappingVersion?: number };
  trace: TraceContext;
  /** Limit of the whole call in milliseconds, connect included. */
  timeoutMs: number;
}

/** How to find an operation's record again. */
export interface LookupQuery {
  kind: string;
  eventId: string;
  /** Keyed hash of the person. */
  personKey?: string;
  trace?: TraceContext;
  timeoutMs: number;
}

export interface ChangedRecord {
  kind: string;
  ref: string;
  /** Our event id, where the destination keeps it. */
  externalId?: string;
  changedAt?: string;
  fields: Record<string, unknown>;
}

/** A destination's protocol. Methods never throw: what went wrong is in the answer. */
export interface Connector {
  /** Name of the destination. */
  readonly name: string;
  readonly capabilities: ConnectorCapabilities;
  perform(call: OperationCall): Promise<Outcome>;
  /** Names of the fields that a contact operation writes, never their values. */
  contactFields(event: LeadAccepted, payload: LeadPayload): readonly string[];
  /** True: this call changes a named record, so that repeating it has no second effect even without a key. */
  repeatable(kind: string, contact: KnownContact | undefined): boolean;
  /** `unknown` where the kind cannot be looked up. */
  lookup(query: LookupQuery): Promise<LookupResult>;
  changedSince?(from: Date, to: Date): AsyncIterable<ChangedRecord>;
  /** A cheap call that proves credentials and reachability; absent where none is configured. */
  check?(): Promise<{ ok: boolean; code?: string }>;
  close(): Promise<void>;
}
