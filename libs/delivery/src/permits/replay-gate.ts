import type { ConsumedRecord } from '#messaging';
import type { Permit } from './permit.js';

/**
 * What a record on a replay topic comes to before any row is looked at. `refused` ends as a dead letter's repetition, never a call: `code`
 * is one of our words (`no_permit`, `bad_permit`, `permit_expired`, `batch_stopped`, `batch_unknown`). `later`: nobody can say now
 * (the batch's state is unknown for more than 5 s, or it is paused); hand the record back for that long.
 */
export type ReplayVerdict = { kind: 'item'; permit: Permit } | { kind: 'refused'; code: string } | { kind: 'later'; delayMs: number };

/** Stands before every claim of a replayed record. */
export interface ReplayGate {
  /** Checks signature, limits and the batch's state, for the delivery that the record's permit names. Never rejects. */
  admit(record: ConsumedRecord): Promise<ReplayVerdict>;
}
