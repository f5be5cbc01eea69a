import { describe, expect, it } from '@jest/globals';
import { told } from './dismiss-letters.js';

describe('what came of dismissing letters', () => {
  it('says how many were closed, and why the others were not', () => {
    expect(told({ closed: 1, left: {} })).toBe('One letter was closed');
    expect(told({ closed: 12, left: { delivery_decides: 3, closed_before: 1 } })).toBe(
      '12 letters were closed; 3 are closed by what becomes of their delivery: replay or discard it; 1 is closed before by somebody else',
    );
  });
});
