import { headers, refusedRecord, unrouted } from '#contracts';
import type { ConsumedRecord } from '#messaging';
import { aboutLead, type Coordinates, deliveryIdentity, type Letter, refusedIdentity, type Told } from './letter.js';
import { schemaIdOf } from './schema-id.js';
import type { DeadLetterSource } from './sources.js';

const longestText = 640;
const longestBigint = 2n ** 63n - 1n;
const controlCharacters = /\p{Cc}+/gu;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * A dead letter from its record. `event` is what its value decodes to, undefined where it does not: such bytes may hold anything, so the
 * letter then names where they lie and does not hold them. History and operations are for the owner to add.
 */
export function readLetter(record: ConsumedRecord, source: DeadLetterSource, event: Told | undefined): Letter {
  const text = (name: string): string | undefined => textOf(record.headers[name]);
  const at: Coordinates = { topic: record.topic, partition: record.partition, offset: record.offset };
  const failure = text(headers.errorClass) ?? 'decode';
  const operationKey = text(headers.operationKey);
  const named = text(headers.eventId);
  const reference = text(headers.errorRef);
  const refused = refusedOf(source, reference);
  const eventId = event?.event_id ?? (named !== undefined && uuid.test(named) ? named.toLowerCase() : undefined) ?? refused;
  const destination =
    refused === undefined
      ? destinationOf(source, { failure, named: text(headers.destinations), hasEvent: event !== undefined })
      : refusedRecord;
  const origin = originOf(text);
  const deadlineAt = timeOf(text(headers.deadlineAt)) ?? event?.deadline_at;
  const letter: Omit<Letter, 'identity'> = {
    service: source.service,
    eventId,
    destination,
    leadRef: event?.lead_ref ?? leadOf(reference),
    ...(event && aboutLead(event)),
    test: event?.test ?? false,
    operationKey,
    operationKind: kindOf(operationKey),
    class: failure,
    code: text(headers.errorCode),
    status: wholeNumber(text(headers.errorStatus), 999),
    reference,
    attempts: wholeNumber(text(headers.attempts), 1_000_000) ?? 0,
    traceparent: text(headers.traceparent),
    tracestate: text(headers.tracestate),
    submittedAt: event?.submitted_at,
    firstSeenAt: timeOf(text(headers.firstSeenAt)),
    deadlineAt,
    deadAt: timeOf(String(record.timestampMs)) ?? new Date(0),
    operations: [],
    history: [],
    foundBy: 'topic',
    at,
    origin,
    schemaId: schemaIdOf(record.value),
    recordKey: event === undefined ? undefined : (record.key ?? undefined),
    event: event === undefined ? undefined : (record.value ?? undefined),
  };
  return { ...letter, identity: identityOf(letter, at) };
}

/**
 * A record that could not be read is known by where it lay first; a lead that was refused by its sealed original. A lead may have a letter for
 * each destination that was taken away from it.
 */
function identityOf(letter: Omit<Letter, 'identity'>, at: Coordinates): string {
  const { eventId, destination, class: failure, deadlineAt, reference } = letter;
  if (letter.event !== undefined && eventId !== undefined && destination !== undefined) {
    return deliveryIdentity({ eventId, destination, class: failure, deadlineAt });
  }
  if (reference !== undefined)
    return destination === undefined || destination === refusedRecord
      ? refusedIdentity(reference)
      : `reference:${reference}:${destination}`;
  const { topic, partition, offset } = letter.origin ?? at;
  return `record:${topic}:${partition}:${offset}:${failure}`;
}

/** Id of the refused record that a letter of intake is about. */
function refusedOf({ service }: DeadLetterSource, reference: string | undefined): string | undefined {
  const id = service === 'intake' && reference?.startsWith('rejected:') === true ? reference.slice('rejected:'.length) : '';
  return uuid.test(id) ? id.toLowerCase() : undefined;
}

function destinationOf(
  source: DeadLetterSource,
  { failure, named, hasEvent }: { failure: string; named: string | undefined; hasEvent: boolean },
): string | undefined {
  if (source.destination !== undefined) return source.destination;
  // Intake has two kinds of leads that go nowhere: without a route, and with a destination that nobody knows any more, which is named.
  if (source.service === 'intake') return failure === 'routing' ? (named ?? unrouted) : undefined;
  // Of a record that could not be read the header is the one it came with, which names destinations of the lead.
  return hasEvent ? named : undefined;
}

function originOf(text: (name: string) => string | undefined): Coordinates | undefined {
  const [topic, partition, offset] = [text(headers.originTopic), text(headers.originPartition), text(headers.originOffset)];
  if (topic === undefined || partition === undefined || offset === undefined) return undefined;
  if (!/^\d{1,9}$/.test(partition) || !/^\d{1,19}$/.test(offset) || BigInt(offset) > longestBigint) return undefined;
  return { topic, partition: Number(partition), offset: BigInt(offset) };
}

const leadOf = (reference: string | undefined): string | undefined =>
  reference?.startsWith('lead:') === true ? reference.slice('lead:'.length) : undefined;

/** `contact` of `…:crm:contact`; a later generation is of the same kind. */
function kindOf(operationKey: string | undefined): string | undefined {
  return operationKey?.slice(operationKey.lastIndexOf(':') + 1).replace(/~[gm]\d+$/, '');
}

/** Header values may be anything: text as PostgreSQL holds it, cut. */
function textOf(bytes: Buffer | undefined): string | undefined {
  const text = bytes?.subarray(0, longestText).toString('utf8').replace(controlCharacters, ' ').trim();
  return text === '' ? undefined : text;
}

function wholeNumber(text: string | undefined, most: number): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) && Number(text) <= most ? Number(text) : undefined;
}

/** Epoch milliseconds up to the year 9999: PostgreSQL's range ends somewhere. */
function timeOf(text: string | undefined): Date | undefined {
  const ms = text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return ms <= Date.UTC(9999, 11, 31) ? new Date(ms) : undefined;
}
