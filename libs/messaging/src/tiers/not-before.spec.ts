import { describe, expect, it } from '@jest/globals';
import { notBeforeMs } from './not-before.js';

const now = 1_800_000_000_000;

describe('notBeforeMs', () => {
  it('reads the time until which a record waits', () => {
    expect(notBeforeMs(Buffer.from(String(now + 15_000)), now)).toBe(now + 15_000);
  });

  it.each(['', '-5', 'soon', '1e99', '0x10', `${now} `, '99999999999999999999', String(now + 25 * 3_600_000), 'NaN', '1.5', '\u0000'])(
    'takes %j for due now',
    (text) => expect(notBeforeMs(Buffer.from(text), now)).toBeUndefined(),
  );

  it('is due at its time and without a header', () => {
    expect(notBeforeMs(Buffer.from(String(now)), now)).toBeUndefined();
    expect(notBeforeMs(undefined, now)).toBeUndefined();
  });
});
