import { headers, type RetryTier, retryTierMs, retryTiers } from '#contracts';
import type { OutboxRow } from '#messaging';

export interface WakeInput {
  /** A retry tier of the delivery's group. */
  topic: string;
  /** Bytes of the event's record, forwarded untouched. */
  key: Buffer | null;
  value: Buffer | null;
  eventId: string;
  destination: string;
  /** Epoch milliseconds of the database's clock, as in the row; absent: due now, whatever the clocks say. */
  notBeforeMs?: number;
  /** Epoch milliseconds. */
  deadlineAtMs: number;
  /** Where the record lay first. */
  origin?: { topic: string; partition: number | string; offset: bigint | string };
  /** Of the first announcement. */
  traceparent?: string;
  tracestate?: string;
}

/** A record that wakes a waiting delivery at its time. The row says whether it may be sent: waking once too often does nothing. */
export function wakeRow(input: WakeInput): OutboxRow {
  const rowHeaders: Record<string, string> = {
    [headers.eventId]: input.eventId,
    [headers.destinations]: input.destination,
    [headers.deadlineAt]: String(Math.floor(input.deadlineAtMs)),
  };
  if (input.notBeforeMs !== undefined) rowHeaders[headers.notBefore] = String(Math.ceil(input.notBeforeMs));
  if (input.origin !== undefined) {
    rowHeaders[headers.originTopic] = input.origin.topic;
    rowHeaders[headers.originPartition] = String(input.origin.partition);
    rowHeaders[headers.originOffset] = String(input.origin.offset);
  }
  if (input.traceparent !== undefined) rowHeaders[headers.traceparent] = input.traceparent;
  if (input.tracestate !== undefined) rowHeaders[headers.tracestate] = input.tracestate;
  return { topic: input.topic, key: input.key, value: input.value, headers: rowHeaders };
}

/** The smallest tier that a wait fits in; undefined: longer than the largest, the sweeper wakes it. */
export function tierFor(delayMs: number): RetryTier | undefined {
  return retryTiers.find((tier) => delayMs <= retryTierMs[tier]);
}
