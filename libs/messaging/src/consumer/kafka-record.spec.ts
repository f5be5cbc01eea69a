import { describe, expect, it } from '@jest/globals';
import { KafkaRecord } from './kafka-record.js';

const record = (headers?: Record<string, Buffer | string | (Buffer | string)[] | undefined>) =>
  new KafkaRecord('leads', 3, { offset: '9007199254740993', key: null, value: null, timestamp: '1750000000123', headers });

describe('KafkaRecord', () => {
  it('keeps an offset beyond 2^53 exact', () => {
    expect(record().offset).toBe(9_007_199_254_740_993n);
    expect(record().timestampMs).toBe(1_750_000_000_123);
  });

  it('case 15: takes the last value of a repeated header and never joins them', () => {
    const headers = record({ traceparent: [Buffer.from('first'), Buffer.from('second')], attempt: ['1', '7'] }).headers;
    expect(headers.traceparent?.toString()).toBe('second');
    expect(headers.attempt?.toString()).toBe('7');
  });

  it('leaves binary header values as they are', () => {
    const bytes = Buffer.from([0x00, 0xff, 0xc3, 0x28]);
    expect(record({ binary: bytes }).headers.binary?.equals(bytes)).toBe(true);
  });

  it('has an empty set where a record came without headers or a header without value', () => {
    expect(Object.keys(record().headers)).toEqual([]);
    expect(record({ nothing: undefined }).headers.nothing).toHaveLength(0);
  });

  it('takes a foreign header name for what it is', () => {
    const { headers } = record({ ['__proto__']: Buffer.from('x'), constructor: Buffer.from('y') });
    expect(Object.keys(headers).sort()).toEqual(['__proto__', 'constructor']);
  });
});
