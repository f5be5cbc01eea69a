import { describe, expect, it } from '@jest/globals';
import { tierFor, wakeRow } from './wake-row.js';

describe('a wake-up', () => {
  it.each([
    [0, '15s'],
    [15_000, '15s'],
    [15_001, '1m'],
    [60_000, '1m'],
    [60_001, '5m'],
    [300_000, '5m'],
    [300_001, undefined],
  ])('after %i ms goes to the tier %s', (delayMs, tier) => {
    expect(tierFor(delayMs)).toBe(tier);
  });

  const row = (more: object = {}) =>
    wakeRow({ topic: 't', key: Buffer.from('k'), value: Buffer.from('v'), eventId: 'e', destination: 'crm', deadlineAtMs: 99.5, ...more });

  it('carries the event and the very time of its row', () => {
    const origin = { topic: 'main', partition: 1, offset: 5n };
    expect(row({ notBeforeMs: 12_345, origin, traceparent: 'p', tracestate: 's' })).toEqual({
      topic: 't',
      key: Buffer.from('k'),
      value: Buffer.from('v'),
      headers: {
        'ld-event-id': 'e',
        'ld-destinations': 'crm',
        'ld-deadline-at': '99',
        'ld-not-before': '12345',
        'ld-origin-topic': 'main',
        'ld-origin-partition': '1',
        'ld-origin-offset': '5',
        traceparent: 'p',
        tracestate: 's',
      },
    });
  });

  it('names no time where it is due now', () => {
    expect(row().headers).not.toHaveProperty('ld-not-before');
  });
});
