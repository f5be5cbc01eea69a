import type { Hmacs } from '#runtime';
import type { Acceptance } from '../accept-leads.js';
import { type ContactKeys, contactKeys } from '../search/contact-keys.js';
import type { ReadRecord, Refused } from './read-record.js';

const idReused = {
  field: 'source_event_id',
  problem: 'was already used for other content',
  fix: 'Give a changed lead a new id and name the old one in supersedes.',
};

/** Why a record is refused, or undefined where its lead is saved (now or before). Pure. */
export function refusalOf(read: ReadRecord, answer: Acceptance | undefined): Refused | undefined {
  if (!('submission' in read)) return read;
  const { source, externalRef } = read;
  if (answer?.kind === 'conflict') {
    return { class: 'conflict', code: 'idempotency_conflict', errors: [idReused], source, externalRef, eventId: answer.eventId };
  }
  if (answer?.kind === 'invalid') return { class: 'invalid', code: 'invalid_fields', errors: answer.errors, source, externalRef };
  return undefined;
}

/** The person of a record that was read; undefined where it was not. */
export function personOf(hmacs: Hmacs, read: ReadRecord): ContactKeys | undefined {
  return 'submission' in read ? contactKeys(hmacs, read.submission.organization, read.submission.contact) : undefined;
}
