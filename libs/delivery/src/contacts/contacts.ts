import type { Database, Logger } from '#runtime';

/** What is known of a person's record at a destination when an operation is about to write it. */
export interface KnownContact {
  /** The destination's id of the record: it is changed by it, never searched or made again. */
  ref?: string;
  /** Fields that a newer submission wrote: an older one leaves them out. */
  newer: readonly string[];
}

/** An operation that wants to write a person's record. */
export interface ContactWrite {
  eventId: string;
  destination: string;
  operationKey: string;
  /** Keyed hash of the person: the key of the lead's record, and `person_key` of its payload. */
  personKey: string;
  submittedAt: Date;
  /** Names of the fields that the write carries, never their values. */
  fields: readonly string[];
}

/** `busy`: another operation of this person may be writing, or may have written. Nothing was sent: wait without an attempt. */
export type ContactLock = ({ kind: 'ours' } & KnownContact) | { kind: 'busy'; waitMs: number };

/**
 * One writer per person and destination at a time. The row in `contact_state` belongs to an operation from its acquisition until that
 * operation has ended or is known not to have been sent; who owns it is judged by the operation's own row, so that a crash frees nothing too
 * early and holds nothing for ever.
 */
export interface Contacts {
  /** After the claim, before the call. May be repeated by the same operation. Waits while the database is away. */
  acquire(write: ContactWrite): Promise<ContactLock>;
  /** After every record of the operation, whatever it came to; returns at once. Frees the row where it may be freed and wakes the next. */
  settle(write: ContactWrite): void;
}

export interface ContactsOptions {
  db: Database;
  logger: Logger;
  /** Topic that a delivery of this destination is woken on. */
  wakeTopic: (destination: string) => string;
  /** Tells the relay that outbox rows were written. */
  relayWake: () => void;
}

/** The contact locks of one service. */
export function createContacts(_options: ContactsOptions): Contacts {
  throw new Error('not implemented');
}
