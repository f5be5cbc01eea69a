import type { LeadAccepted, LeadPayload } from '#contracts';
import type { ComparedRecord, KnownContact, LookupResult, OlderRecord, Outcome } from '#delivery';
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
  /** Records that one `readMany` takes at most; absent where there is none. */
  readMany?: number;
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
  /** The record as it was compared when the change was approved: another one, or none, is not written but ends as `changedByPerson`. */
  compared?: ComparedRecord;
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

/** A record as the destination shows it, its values included: for comparing only, never for logs. */
export interface FoundRecord {
  kind: string;
  /** The destination's own id. */
  ref: string;
  /** Ids of records that people merged into this one, as far as they led to it: it holds also what those held, as people chose. */
  mergedRefs?: readonly string[];
  /** Our event id (lead) or person key (contact), where the destination keeps it. */
  key?: string;
  /** Grows or changes with every write there. */
  version?: string;
  status?: string;
  createdAt?: string;
  changedAt?: string;
  /** `other`: somebody else than our credentials wrote last; absent where the destination does not say. */
  changedBy?: 'us' | 'other';
  /** The same of single fields, where the destination tells it apart. */
  fieldsChangedBy?: Readonly<Record<string, 'us' | 'other' | 'unknown'>>;
  /** References of what it hangs on, such as `{ contact, owner }`; a name without a value is known to be empty. */
  links?: Record<string, string | undefined>;
  fields: Record<string, unknown>;
}

/** What a read came to; `next` is where the following page begins. */
export type ReadAnswer =
  | { ok: true; records: FoundRecord[]; next?: string }
  | { ok: false; class: string; code?: string; retryAfterMs?: number };

/** Several records by our keys or by the destination's ids, all of one kind. */
export interface ReadQuery {
  kind: string;
  keys?: readonly string[];
  refs?: readonly string[];
  trace?: TraceContext;
  timeoutMs: number;
}

/** A page of what was created or changed in `[from, to)`, oldest first. */
export interface ChangedQuery {
  kind: string;
  from: Date;
  to: Date;
  cursor?: string;
  limit: number;
  timeoutMs: number;
}

/** What a record's lead says that it should hold. */
export type ExpectedLead = Pick<OperationCall, 'kind' | 'event' | 'payload' | 'refs'>;

/** A record as it is after our write: comparable with a `FoundRecord`. */
export type ExpectedRecord = Pick<FoundRecord, 'fields' | 'links'>;

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
  /**
   * Absent or undefined: what `lookup` finds of this kind was made by the very operation. Else it may be an older record of the person: one
   * that can be changed by its id (`change`), or not (`keep`).
   */
  older?(kind: string): OlderRecord | undefined;
  /** `unknown` where the kind cannot be looked up. */
  lookup(query: LookupQuery): Promise<LookupResult>;
  /** What `readMany` and `changedSince` would show of this operation's record right after our write. */
  expected?(lead: ExpectedLead): ExpectedRecord;
  /**
   * Records by key or reference, at most `capabilities.readMany` of them; those that are not there are left out. One that was merged into
   * another is that other one, under the key that was asked for.
   */
  readMany?(query: ReadQuery): Promise<ReadAnswer>;
  changedSince?(query: ChangedQuery): Promise<ReadAnswer>;
  /** A cheap call that proves credentials and reachability; absent where none is configured. */
  check?(): Promise<{ ok: boolean; code?: string }>;
  close(): Promise<void>;
}
