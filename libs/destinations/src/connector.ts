import type { LeadAccepted, LeadPayload } from '#contracts';
import type { Outcome } from '#delivery';
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
  personKey: string;
  trace?: TraceContext;
  timeoutMs: number;
}

/** `several` is never resolved by taking the first. */
export type LookupResult =
  | { kind: 'absent' }
  | { kind: 'found'; ref: string }
  | { kind: 'several'; refs: string[] }
  | { kind: 'unknown'; code: string };

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
  /** `unknown` where the kind cannot be looked up. */
  lookup(query: LookupQuery): Promise<LookupResult>;
  changedSince?(from: Date, to: Date): AsyncIterable<ChangedRecord>;
  check?(): Promise<{ ok: boolean; code?: string }>;
  close(): Promise<void>;
}
