import { describe, expect, it } from '@jest/globals';
import { Unanswered } from './unanswered.js';

describe('items of which their destination cannot say what it holds', () => {
  it('are asked about again after a while', () => {
    const unanswered = new Unanswered();
    expect(unanswered.note({ sent: 0, waiting: 2 }, 1_000)).toBe(false);
    expect([1_000, 2_999, 3_000].map((nowMs) => unanswered.mayAsk(nowMs))).toEqual([false, false, true]);
    unanswered.note({ sent: 2, waiting: 0 }, 3_000);
    expect(unanswered.mayAsk(3_000)).toBe(true);
  });

  it('become a matter for a person after half a minute without any that was sent', () => {
    const unanswered = new Unanswered();
    const rounds = (count: number) => Array.from({ length: count }, () => unanswered.note({ sent: 0, waiting: 1 }, 0));
    expect(rounds(15)).not.toContain(true);
    expect(unanswered.note({ sent: 1, waiting: 1 }, 0)).toBe(false);
    expect(rounds(15)).toEqual([...Array<boolean>(14).fill(false), true]);
  });
});
