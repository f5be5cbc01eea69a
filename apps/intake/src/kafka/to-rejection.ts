import { headers, topics } from '#contracts';
import type { ConsumedRecord } from '#messaging';
import { type KeyRing, newEventId, seal, type TraceContext } from '#runtime';
import { searchKey } from '../search/contact-keys.js';
import type { NewRejection } from '../store/new-rejection.js';
import { rejectedAad } from '../vault/vault-aad.js';
import type { Refused } from './read-record.js';

/** A producer chooses the time of its record; PostgreSQL's range ends somewhere. */
const lastRecordMs = Date.UTC(9999, 11, 31);

/** What is stored of a refused record (sealed) and announced of it (by reference). */
export function toRejection(
  ring: KeyRing,
  record: ConsumedRecord,
  facts: { refused: Refused; now: Date; trace: TraceContext },
): NewRejection {
  const { refused, now, trace } = facts;
  const rejectedId = newEventId();
  return {
    rejectedId,
    organization: refused.source?.organization,
    source: refused.source?.id,
    externalRef: refused.externalRef,
    class: refused.class,
    code: refused.code,
    errors: refused.errors,
    eventId: refused.eventId,
    topic: record.topic,
    partition: record.partition,
    offset: record.offset,
    recordAt: new Date(Math.min(Math.max(record.timestampMs, 0), lastRecordMs)),
    rejectedAt: now,
    sealed: seal(ring, recordBytes(record), rejectedAad(rejectedId)),
    emailKey: searchKey(refused.keys?.email),
    phoneKey: searchKey(refused.keys?.phone),
    outbox: {
      topic: topics.intakeDlq,
      key: null,
      value: null,
      headers: {
        [headers.errorClass]: refused.class,
        [headers.errorCode]: refused.code,
        [headers.errorRef]: `rejected:${rejectedId}`,
        [headers.traceparent]: trace.traceparent,
        ...(trace.tracestate && { [headers.tracestate]: trace.tracestate }),
      },
    },
  };
}

/** The record as it lay in the log, as JSON of base64 texts. */
function recordBytes({ key, value, headers }: ConsumedRecord): Buffer {
  const base64 = (bytes: Buffer | null): string | null => bytes?.toString('base64') ?? null;
  const record = {
    key: base64(key),
    value: base64(value),
    headers: Object.entries(headers).map(([name, bytes]) => [name, base64(bytes)]),
  };
  return Buffer.from(JSON.stringify(record), 'utf8');
}
