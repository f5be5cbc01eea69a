import type { TraceContext } from '#runtime';
import type { Receipt } from '../consumer/record.js';

/** Why a record carries no event. Anything else that stops decoding (registry away) pauses the partition instead. */
export type UnreadableReason = 'tombstone' | 'not_avro' | 'unknown_schema' | 'undecodable';

export type ReadResult<E> = { ok: true; event: E } | { ok: false; reason: UnreadableReason; detail: string };

/** What an event handler gets, in batches: the decoded event or why there is none, the caller's trace, and the receipt to settle. */
export interface Received<E> {
  readonly receipt: Receipt;
  readonly trace?: TraceContext;
  readonly result: ReadResult<E>;
}

/** Second argument of every handler. */
export interface ReceivedContext {
  readonly group: string;
  readonly pattern: string;
}
