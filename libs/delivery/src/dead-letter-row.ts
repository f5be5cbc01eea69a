import { type FailureClass, headers } from '#contracts';
import type { OutboxRow } from '#messaging';

export interface DeadLetterInput {
  /** The group's dead-letter topic. */
  topic: string;
  /** Bytes of the event's record, forwarded untouched. */
  key: Buffer | null;
  value: Buffer | null;
  /** What follows down to `deadlineAtMs` is unknown of a record that carries no readable event. */
  eventId?: string;
  destination?: string;
  /** The operation that failed; absent when the delivery as a whole did. */
  operationKey?: string;
  /** Calls of that operation so far. */
  attempts?: number;
  /** When its owner first saw the delivery, epoch milliseconds. */
  firstSeenAtMs?: number;
  /** Epoch milliseconds. */
  deadlineAtMs?: number;
  class: FailureClass;
  /** A short word of the destination or of ours. */
  code?: string;
  /** HTTP status of the last answer. */
  status?: number;
  /** Where the sealed original is kept, or the destination's reference. */
  ref?: string;
  /** Where the record lay first. */
  origin?: { topic: string; partition: number | string; offset: bigint | string };
  traceparent?: string;
  tracestate?: string;
}

/** Longest value of each header in bytes. With their names they add up to less than 4 KB, however often a record hops. */
const longestBytes: Readonly<Record<string, number>> = {
  [headers.destinations]: 512,
  [headers.operationKey]: 640,
  [headers.originTopic]: 249,
  [headers.errorCode]: 64,
  [headers.errorRef]: 256,
  [headers.tracestate]: 512,
};
const longestOtherBytes = 64;

/** The row of one dead letter: the event's own bytes, and why it ended in a bounded set of headers. Absent fields have no header. */
export function deadLetterRow(input: DeadLetterInput): OutboxRow {
  const { origin } = input;
  const all: [name: string, value: string | undefined][] = [
    [headers.eventId, input.eventId],
    [headers.destinations, input.destination],
    [headers.deadlineAt, milliseconds(input.deadlineAtMs)],
    [headers.originTopic, origin?.topic],
    [headers.originPartition, origin?.partition.toString()],
    [headers.originOffset, origin?.offset.toString()],
    [headers.operationKey, input.operationKey],
    [headers.attempts, input.attempts?.toString()],
    [headers.firstSeenAt, milliseconds(input.firstSeenAtMs)],
    [headers.errorClass, input.class],
    [headers.errorCode, input.code],
    [headers.errorStatus, input.status?.toString()],
    [headers.errorRef, input.ref],
    [headers.traceparent, input.traceparent],
    [headers.tracestate, wholeMembers(input.tracestate)],
  ];
  const present = all.filter((header): header is [string, string] => header[1] !== undefined && header[1] !== '');
  const cut = present.map(([name, value]) => [name, cutToBytes(value, longestBytes[name] ?? longestOtherBytes)]);
  return { topic: input.topic, key: input.key, value: input.value, headers: Object.fromEntries(cut) as Record<string, string> };
}

const milliseconds = (value: number | undefined): string | undefined => (value === undefined ? undefined : String(Math.floor(value)));

/** Half a list member would make the whole `tracestate` unreadable: what does not fit is left out from the right. */
function wholeMembers(tracestate: string | undefined): string | undefined {
  const longest = longestBytes[headers.tracestate] ?? 0;
  if (tracestate === undefined || Buffer.byteLength(tracestate) <= longest) return tracestate;
  const end = tracestate.lastIndexOf(',', longest);
  return end <= 0 ? undefined : tracestate.slice(0, end);
}

/** Never cuts through a character. */
function cutToBytes(text: string, longest: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= longest) return text;
  let end = longest;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
