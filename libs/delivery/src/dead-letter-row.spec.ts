import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type DeadLetterInput, deadLetterRow } from './dead-letter-row.js';

const letter = (more: Partial<DeadLetterInput> = {}): DeadLetterInput => ({
  topic: 'lead.accepted.crm-writer.crm.dlq',
  key: Buffer.from('key'),
  value: Buffer.from([0, 1, 2]),
  class: 'permanent',
  ...more,
});

describe('a dead letter', () => {
  it('carries the bytes of the event untouched, and why it ended', () => {
    const row = deadLetterRow(
      letter({
        eventId: 'e',
        destination: 'crm',
        operationKey: 'e:crm:lead',
        attempts: 3,
        firstSeenAtMs: 1_700_000_000_000.7,
        deadlineAtMs: 1_700_000_360_000,
        code: 'bad_field',
        status: 422,
        ref: 'L-1',
        origin: { topic: 'lead.accepted', partition: 2, offset: 7n },
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        tracestate: 'a=1',
      }),
    );
    expect(row).toEqual({
      topic: 'lead.accepted.crm-writer.crm.dlq',
      key: Buffer.from('key'),
      value: Buffer.from([0, 1, 2]),
      headers: {
        'ld-event-id': 'e',
        'ld-destinations': 'crm',
        'ld-deadline-at': '1700000360000',
        'ld-origin-topic': 'lead.accepted',
        'ld-origin-partition': '2',
        'ld-origin-offset': '7',
        'ld-operation-key': 'e:crm:lead',
        'ld-attempts': '3',
        'ld-first-seen-at': '1700000000000',
        'ld-error-class': 'permanent',
        'ld-error-code': 'bad_field',
        'ld-error-status': '422',
        'ld-error-ref': 'L-1',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        tracestate: 'a=1',
      },
    });
  });

  it('has no header for what is not known', () => {
    expect(deadLetterRow(letter({ class: 'decode', code: '' })).headers).toEqual({ 'ld-error-class': 'decode' });
  });

  it('keeps a code of 64 bytes, and cuts a longer one without breaking a character', () => {
    const code = (text: string) => deadLetterRow(letter({ code: text })).headers['ld-error-code'];
    expect(code('x'.repeat(64))).toBe('x'.repeat(64));
    expect(code('x'.repeat(65))).toBe('x'.repeat(64));
    expect(code(`${'x'.repeat(62)}é!`)).toBe(`${'x'.repeat(62)}é`);
    expect(code(`${'x'.repeat(63)}é`)).toBe('x'.repeat(63));
  });

  it('leaves whole members out of a trace state that is too long', () => {
    const member = (name: string) => `${name}=${'v'.repeat(200)}`;
    const state = (tracestate: string) => deadLetterRow(letter({ tracestate })).headers.tracestate;
    expect(state([member('a'), member('b'), member('c')].join(','))).toBe([member('a'), member('b')].join(','));
    expect(state(`a=${'v'.repeat(600)}`)).toBeUndefined();
  });

  it('never has more than 4 KB of headers, whatever came', () => {
    const text = fc.string({ unit: 'binary', maxLength: 3_000 });
    const input = fc.record({
      eventId: text,
      destination: text,
      operationKey: text,
      code: text,
      ref: text,
      traceparent: text,
      tracestate: text,
      origin: fc.record({ topic: text, partition: text, offset: text }),
      attempts: fc.nat(),
      firstSeenAtMs: fc.double({ noNaN: true }),
      deadlineAtMs: fc.double({ noNaN: true }),
      status: fc.nat(),
    });
    fc.assert(
      fc.property(input, (fields) => {
        const { headers } = deadLetterRow(letter(fields));
        const bytes = Object.entries(headers).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);
        expect(bytes).toBeLessThanOrEqual(4_096);
      }),
    );
  });
});
