import type { DeliveryState, FailureClass } from '#contracts';
import type { OutboxRow } from '#messaging';
import type { Sealed, TraceContext } from '#runtime';

/** What makes a submission the same submission: the key, and the fingerprint of its content (versioned HMAC). */
export interface IntakeKey {
  organization: string;
  source: string;
  /** Keyed hash of the source's own id. */
  externalRef: string;
  fingerprint: string;
}

export interface NewDelivery {
  destination: string;
  state: DeliveryState;
  class?: FailureClass;
  code?: string;
}

/** Everything that is saved of one lead when it is accepted. */
export interface NewLead extends IntakeKey {
  eventId: string;
  leadRef: string;
  form?: string;
  campaign?: string;
  supersedesRef?: string;
  submittedAt: Date;
  acceptedAt: Date;
  deadlineAt: Date;
  policy: string;
  owner?: string;
  test: boolean;
  /** Key of the lead.accepted record. */
  recordKey: Buffer;
  /** What the lead is searched by: 64 bits of a keyed hash of each address. */
  emailKey?: bigint;
  phoneKey?: bigint;
  /** The encoded lead.accepted event, kept for announcing it again. */
  event: Buffer;
  /** Of the span that created the event; travels in the record's headers. */
  trace: TraceContext;
  sealed: Sealed;
  /** Of the lead.accepted record, whose key and value are above. */
  headers: Record<string, string>;
  deliveries: NewDelivery[];
  /** Records beside lead.accepted; most leads have none. */
  outbox: OutboxRow[];
}
