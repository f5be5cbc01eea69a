import { describe, expect, it } from '@jest/globals';
import type { ConsumedRecord, OutboxRow } from '#messaging';
import { deadLetterRow } from './dead-letter-row.js';
import { originOf } from './dead-letters.js';
import { wakeRow } from './wake-row.js';

const foreign = {
  // As a reader sees a repeated header: its last value.
  attempt: Buffer.from('7'),
  binary: Buffer.from([0, 255]),
  traceparent: Buffer.from('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
};
const value = Buffer.from([0, 0, 0, 0, 1, 255, 0]);

const record = (topic: string, headers: Record<string, Buffer>): ConsumedRecord => ({
  topic,
  partition: 3,
  offset: 41n,
  key: Buffer.from([0, 1]),
  value,
  headers,
  timestampMs: 1_700_000_000_000,
});

/** The next topic's record, as the relay writes the row and a consumer reads it. */
const landed = ({ topic, headers = {} }: OutboxRow): ConsumedRecord =>
  record(topic, Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, Buffer.from(text)])));

const common = { key: Buffer.from([0, 1]), value, eventId: 'e', destination: 'crm', deadlineAtMs: 1_700_000_360_000 };
const traced = ({ headers }: ConsumedRecord) => ({ traceparent: headers.traceparent?.toString() });

describe('headers of a record that hops', () => {
  it.each([
    ['with headers of a stranger', foreign],
    ['with none', {}],
  ])('case 15: %s are the same few after three rounds of every tier, and name where it lay first', (_name, headers) => {
    let hop = record('lead.accepted', headers);
    const seen: string[][] = [];
    for (const tier of ['15s', '1m', '5m', '15s', '1m', '5m', '15s', '1m', '5m']) {
      const row = wakeRow({
        ...common,
        ...traced(hop),
        topic: `lead.accepted.crm-writer.crm.retry.${tier}`,
        notBeforeMs: 1_700_000_000_000,
        origin: originOf(hop),
      });
      hop = landed(row);
      seen.push(Object.keys(row.headers ?? {}).sort());
      expect(row.key).toEqual(common.key);
      expect(row.value).toEqual(value);
    }
    for (const names of seen) expect(names).toEqual(seen[0]);
    expect(seen[0]).not.toContain('attempt');
    expect(seen[0]).not.toContain('binary');
    expect(originOf(hop)).toEqual({ topic: 'lead.accepted', partition: '3', offset: '41' });

    const dead = deadLetterRow({ ...common, ...traced(hop), topic: 'dlq', class: 'permanent', code: 'x', origin: originOf(hop) });
    expect(Object.keys(dead.headers ?? {}).every((name) => name.startsWith('ld-') || name === 'traceparent')).toBe(true);
    expect(Object.values(dead.headers ?? {}).some((text) => text.includes(','))).toBe(false);
  });
});
