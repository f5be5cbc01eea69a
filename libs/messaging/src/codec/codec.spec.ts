import { describe, expect, it } from '@jest/globals';
import avro from 'avsc';
import fc from 'fast-check';
import { type EventDescriptor, type LeadAccepted, LeadAcceptedEvent, type LeadSubmitted, LeadSubmittedEvent } from '#contracts';
import { type Codec, createCodec } from './codec.js';
import { DecodeError } from './errors.js';
import type { KnownSchema } from './schema-ids.js';

const known = (event: EventDescriptor<unknown>, id: number, schema = event.schema): KnownSchema => ({
  subject: event.subject,
  version: event.schemaVersion,
  id,
  schema,
});

const leadEvent: LeadSubmitted = {
  source_event_id: 'web-1001',
  organization: 'demo',
  source: 'website',
  form: 'contact',
  campaign: null,
  submitted_at: new Date('2026-03-29T00:30:00.123Z'),
  contact: { name: 'Ada Example 👩‍👩‍👧', email: null, phone: '+12025550123' },
  message: 'A\u0000b',
  consent: { given: true, at: new Date(0) },
  custom: { big: '9223372036854775807', '': '' },
  supersedes: null,
  test: false,
};

const frame = (id: number, body: Buffer): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix.writeInt32BE(id, 1);
  return Buffer.concat([prefix, body]);
};

/** Reason of the refusal of bytes that must not decode. */
function reasonOf(codec: Codec, event: EventDescriptor<unknown>, bytes: Buffer | null): string {
  try {
    return `decoded ${JSON.stringify(codec.decode(event, bytes))}`;
  } catch (error) {
    return error instanceof DecodeError ? error.reason : `threw ${String(error)}`;
  }
}

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing thrown';
}

/** A contract of our own for questions that the real ones do not raise. */
const contract = (fields: object[], version = 1): EventDescriptor<Record<string, unknown>> => ({
  name: 'made.up',
  topic: 'made.up',
  subject: 'made.up-value',
  schemaVersion: version,
  schema: JSON.stringify({ type: 'record', name: 'MadeUp', fields }),
});

const nullableDate = ['null', { type: 'long', logicalType: 'timestamp-millis' }];
const v1 = contract([
  { name: 'id', type: 'string' },
  { name: 'created_at', type: nullableDate, default: null },
]);
const v2 = contract(
  [
    { name: 'id', type: 'string' },
    { name: 'created_at', type: nullableDate, default: null },
    { name: 'source', type: 'string', default: 'web' },
    { name: 'utm', type: ['null', 'string'], default: null },
  ],
  2,
);

describe('framing and values', () => {
  const codec = createCodec({ known: [known(LeadSubmittedEvent, 7)] });

  it('writes a zero byte, the 4-byte id and plain Avro that a foreign reader understands', () => {
    const bytes = codec.encode(LeadSubmittedEvent, leadEvent);
    expect([...bytes.subarray(0, 5)]).toEqual([0, 0, 0, 0, 7]);
    const foreign = avro.Type.forSchema(JSON.parse(LeadSubmittedEvent.schema));
    expect(foreign.fromBuffer(bytes.subarray(5))).toMatchObject({ source_event_id: 'web-1001', submitted_at: 1_774_744_200_123 });
  });

  it('gives back the same value, synchronously, with Date, null, emoji, NUL and empty text kept', () => {
    expect(codec.decode(LeadSubmittedEvent, codec.encode(LeadSubmittedEvent, leadEvent))).toEqual(leadEvent);
  });

  it('keeps a map key that names the prototype', () => {
    const custom = Object.defineProperty({}, '__proto__', { value: 'x', enumerable: true }) as Record<string, string>;
    const decoded = codec.decode(LeadSubmittedEvent, codec.encode(LeadSubmittedEvent, { ...leadEvent, custom })) as LeadSubmitted;
    expect(Object.entries(decoded.custom)).toEqual([['__proto__', 'x']]);
  });

  it('grows for events beyond its scratch space and shares no memory between results', () => {
    const long = { ...leadEvent, message: 'x'.repeat(100_000) };
    const first = codec.encode(LeadSubmittedEvent, long);
    codec.encode(LeadSubmittedEvent, { ...long, message: 'y'.repeat(100_000) });
    expect(codec.decode(LeadSubmittedEvent, first)).toEqual(long);
  });

  it('takes a Date for a timestamp and nothing else, and names the field without its value', () => {
    const wrong = { ...leadEvent, submitted_at: '2026-03-29T00:30:00Z', consent: { given: true, at: 5 } } as unknown as LeadSubmitted;
    const message = messageOf(() => codec.encode(LeadSubmittedEvent, wrong));
    expect(message).toContain('submitted_at, consent.at');
    expect(message).not.toContain('2026');
    expect(messageOf(() => codec.encode(LeadSubmittedEvent, { ...leadEvent, submitted_at: new Date(Number.NaN) }))).toContain(
      'submitted_at',
    );
  });

  it('never puts a value of the event into an error', () => {
    const wrong = { ...leadEvent, contact: { ...leadEvent.contact, email: { secret: 'ada@example.test' } } } as unknown as LeadSubmitted;
    expect(messageOf(() => codec.encode(LeadSubmittedEvent, wrong))).toBe('leads: contact.email must be what the contract says');
  });

  it('refuses to encode what is not registered, or was registered with other content', () => {
    expect(messageOf(() => createCodec({ known: [] }).encode(LeadSubmittedEvent, leadEvent))).toContain('leadctl schemas apply');
    const other = createCodec({ known: [known(v1, 1, v2.schema)] });
    expect(messageOf(() => other.encode(v1, { id: 'a', created_at: null }))).toContain('new version');
  });

  it('encodes under the newest of several ids of one version, and reads them all', () => {
    const moved = createCodec({ known: [known(v1, 3), known(v1, 11)] });
    const bytes = moved.encode(v1, { id: 'a', created_at: null });
    expect(bytes.readInt32BE(1)).toBe(11);
    expect(moved.decode(v1, frame(3, bytes.subarray(5)))).toEqual({ id: 'a', created_at: null });
  });
});

describe('schema evolution', () => {
  const codec = createCodec({ known: [known(v1, 1), known(v2, 2)] });
  const date = new Date('2026-11-29T12:00:00.001Z');

  it('case 19: reads old bytes with the new contract, defaults filled in and dates equal', () => {
    const old = codec.encode(v1, { id: 'a', created_at: date });
    expect(codec.decode(v2, old)).toEqual({ id: 'a', created_at: date, source: 'web', utm: null });
  });

  it('case 19: reads new bytes with the old contract', () => {
    const fresh = codec.encode(v2, { id: 'b', created_at: date, source: 'ads', utm: 'x' });
    expect(codec.decode(v1, fresh)).toEqual({ id: 'b', created_at: date });
    expect(codec.decode(v1, codec.encode(v2, { id: 'c', created_at: null, source: 'ads', utm: null }))).toEqual({
      id: 'c',
      created_at: null,
    });
  });

  it('reads a plain long of the writer as a timestamp', () => {
    const plain = contract(
      [
        { name: 'id', type: 'string' },
        { name: 'created_at', type: ['null', 'long'], default: null },
      ],
      9,
    );
    const both = createCodec({ known: [known(plain, 9)] });
    const bytes = both.encode(plain, { id: 'a', created_at: date.getTime() });
    expect(both.decode(v1, bytes)).toEqual({ id: 'a', created_at: date });
  });

  it('case 19: builds one resolver per writer, however many records of both come mixed', () => {
    const bytes = [
      codec.encode(v1, { id: 'a', created_at: date }),
      codec.encode(v2, { id: 'b', created_at: date, source: 's', utm: null }),
    ];
    let built = 0;
    const original = avro.Type.prototype.createResolver;
    avro.Type.prototype.createResolver = function (...given) {
      if (this.name === 'MadeUp') built += 1;
      return original.apply(this, given);
    };
    try {
      const fresh = createCodec({ known: [known(v1, 1), known(v2, 2)] });
      for (let n = 0; n < 10_000; n += 1) void fresh.decode(v2, bytes[n % 2] as Buffer);
    } finally {
      avro.Type.prototype.createResolver = original;
    }
    expect(built).toBe(1);
  });

  it('takes a writer schema that cannot become the contract for undecodable, each time', () => {
    const alien = createCodec({ known: [known(v1, 4, JSON.stringify({ type: 'record', name: 'MadeUp', fields: [] }))] });
    expect([1, 2].map(() => reasonOf(alien, v1, frame(4, Buffer.alloc(0))))).toEqual(['undecodable', 'undecodable']);
  });
});

describe('bytes that carry no event', () => {
  const codec = createCodec({ known: [known(LeadAcceptedEvent, 1), known(LeadSubmittedEvent, 2)] });

  it.each([
    ['no value', 'tombstone', null],
    ['0 bytes', 'not_avro', Buffer.alloc(0)],
    ['1 byte', 'not_avro', Buffer.from([0])],
    ['4 bytes', 'not_avro', Buffer.from([0, 0, 0, 1])],
    ['text', 'not_avro', Buffer.from('abcdefgh')],
    ['5 bytes of a known id', 'undecodable', Buffer.from([0, 0, 0, 0, 1])],
    ['an id that nobody knows', 'unknown_schema', Buffer.from([0, 0, 15, 66, 63, 1])],
    ['a negative id', 'unknown_schema', Buffer.from([0, 255, 255, 255, 255, 1])],
    ['an id of another subject', 'unknown_schema', Buffer.from([0, 0, 0, 0, 2, 1])],
  ])('%s: %s', (_name, reason, bytes) => {
    expect(reasonOf(codec, LeadAcceptedEvent, bytes)).toBe(reason);
  });

  it('finds text that is not UTF-8 undecodable, and lets a replacement character of the producer pass', () => {
    const bytes = codec.encode(LeadSubmittedEvent, { ...leadEvent, message: 'QQQQ' });
    const broken = Buffer.from(bytes);
    broken.set([0xff, 0xfe], bytes.indexOf('QQQQ'));
    expect(reasonOf(codec, LeadSubmittedEvent, broken)).toBe('undecodable');
    const own = { ...leadEvent, message: '\uFFFD?' };
    expect(codec.decode(LeadSubmittedEvent, codec.encode(LeadSubmittedEvent, own))).toMatchObject({ message: '\uFFFD?' });
  });

  it('finds truncated and trailing bytes undecodable', () => {
    const bytes = codec.encode(LeadSubmittedEvent, leadEvent);
    expect(reasonOf(codec, LeadSubmittedEvent, bytes.subarray(0, -3))).toBe('undecodable');
    expect(reasonOf(codec, LeadSubmittedEvent, Buffer.concat([bytes, Buffer.from([0])]))).toBe('undecodable');
  });

  it('names the field of a long that a number or a Date cannot hold, and rounds nothing', () => {
    const event = contract([
      { name: 'id', type: 'string' },
      {
        name: 'inner',
        type: { type: 'record', name: 'Inner', fields: [{ name: 'at', type: { type: 'long', logicalType: 'timestamp-millis' } }] },
      },
    ]);
    const reader = createCodec({ known: [known(event, 1)] });
    // "a", then nanoseconds of today, the largest long, 2^52 and -(2^52 + 1), as zig-zag varints.
    for (const long of ['aab4d6c4cdee9fc930', 'feffffffffffffffff01', '8080808080808010', '8180808080808010']) {
      const bytes = frame(1, Buffer.concat([Buffer.from([2, 97]), Buffer.from(long, 'hex')]));
      expect(messageOf(() => reader.decode(event, bytes))).toBe('made.up, schema id 1: inner.at is outside the exact range');
    }
  });

  it('ends quickly on counts and lengths that lie', () => {
    const hostile = contract([
      { name: 'list', type: { type: 'array', items: 'string' } },
      { name: 'map', type: { type: 'map', values: 'string' } },
    ]);
    const narrow = contract([]);
    const reader = createCodec({ known: [known(hostile, 1)] });
    // 2^40 entries; one entry of length -3 that points back at its own block; a skipped block of size -6.
    const lies = ['808080808040', '0205', '000205', '010b'];
    for (const lie of lies) {
      const bytes = frame(1, Buffer.from(lie, 'hex'));
      expect(reasonOf(reader, hostile, bytes)).toBe('undecodable');
      expect(reasonOf(reader, narrow, bytes)).toBe('undecodable');
    }
  });

  it('answers any bytes with an event or a reason, and never hangs', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (body, framed) => {
        const bytes = framed ? frame(2, Buffer.from(body)) : Buffer.from(body);
        return !reasonOf(codec, LeadSubmittedEvent, bytes).startsWith('threw');
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('round trip', () => {
  it('holds for any lead', () => {
    const codec = createCodec({ known: [known(LeadAcceptedEvent, 1)] });
    const text = fc.string({ unit: 'binary' });
    const edge = 2 ** 52 - 1;
    const date = fc.integer({ min: -edge, max: edge }).map((millis) => new Date(millis));
    const lead = fc.record<LeadAccepted>({
      event_id: text,
      event_type: fc.constant('lead.accepted'),
      version: fc.integer(),
      lead_ref: text,
      organization: text,
      source: text,
      source_event_ref: text,
      form: fc.option(text),
      campaign: fc.option(text),
      submitted_at: date,
      accepted_at: date,
      deadline_at: date,
      policy: text,
      payload_hmac: text,
      consent: fc.boolean(),
      test: fc.boolean(),
      destinations: fc.array(text),
    });
    fc.assert(fc.property(lead, (value) => expect(codec.decode(LeadAcceptedEvent, codec.encode(LeadAcceptedEvent, value))).toEqual(value)));
  });
});
