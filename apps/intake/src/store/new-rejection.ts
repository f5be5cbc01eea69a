import type { FailureClass } from '#contracts';
import type { OutboxRow } from '#messaging';
import type { FieldProblem, Sealed } from '#runtime';

/** A record of the topic `leads` that is refused for good, and what is kept of it. */
export interface NewRejection {
  rejectedId: string;
  /** Known only where the record names a configured source; what it says otherwise lies sealed. */
  organization?: string;
  source?: string;
  externalRef?: string;
  class: FailureClass;
  code: string;
  errors: FieldProblem[];
  /** The lead that the same id was first used for. */
  eventId?: string;
  topic: string;
  partition: number;
  offset: bigint;
  recordAt: Date;
  rejectedAt: Date;
  /** Key, value and headers of the record. */
  sealed: Sealed;
  /** The two keys that a person is found by, where the record could be read and names an address. */
  emailKey?: bigint;
  phoneKey?: bigint;
  outbox: OutboxRow;
}
