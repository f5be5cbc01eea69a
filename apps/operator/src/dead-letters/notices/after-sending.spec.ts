import { describe, expect, it } from '@jest/globals';
import { afterSending } from './after-sending.js';

describe('what an attempt makes of a notice', () => {
  it('is sent once the channel says so', () => {
    expect(afterSending({ kind: 'succeeded', ref: '7' }, 1)).toEqual({ state: 'sent', reference: '7' });
  });

  it.each([{ kind: 'uncertain', code: 'timeout' } as const, { kind: 'transient', code: 'reset', provablyNotExecuted: false } as const])(
    'is never sent again after $kind',
    (outcome) => {
      expect(afterSending(outcome, 1)).toEqual({ state: 'uncertain', code: outcome.code });
    },
  );

  it('waits longer each time while nothing gets through, as long as the channel asks, and not for ever', () => {
    const refused = { kind: 'transient', code: 'econnrefused', provablyNotExecuted: true } as const;
    expect(afterSending(refused, 1)).toEqual({ state: 'waiting', code: 'econnrefused', afterMs: 30_000 });
    expect(afterSending(refused, 3)).toMatchObject({ afterMs: 120_000 });
    expect(afterSending(refused, 100)).toMatchObject({ afterMs: 600_000 });
    expect(afterSending({ kind: 'throttled', code: 'http_429', afterMs: 900_000 }, 1)).toMatchObject({
      state: 'waiting',
      afterMs: 900_000,
    });
    expect(afterSending(refused, 150)).toEqual({ state: 'refused', code: 'econnrefused' });
  });

  it('ends where the chat never takes it', () => {
    expect(afterSending({ kind: 'permanent', class: 'permanent', code: 'http_403' }, 1)).toEqual({ state: 'refused', code: 'http_403' });
  });
});
