import { describe, expect, it } from '@jest/globals';
import type { DismissedLetters } from '../../api/types.js';
import { dismissLetters, told } from './dismiss-letters.js';

const none = { delivery_decides: 0, in_batch: 0, closed_before: 0 };

describe('what came of dismissing letters', () => {
  it('says how many were closed, and why the others were not', () => {
    expect(told({ dismissed: 1, left: none })).toBe('One letter was closed');
    expect(told({ dismissed: 12, left: { delivery_decides: 3, in_batch: 2, closed_before: 1 } })).toBe(
      '12 letters were closed; 3 are closed by what becomes of their delivery: replay or discard it; 2 are in a batch that was approved; ' +
        '1 is closed before by somebody else',
    );
    expect(told({ dismissed: 0, left: none })).toBe('Nothing of it is open any more');
  });
});

describe('dismissing a group', () => {
  const group = { group: { key: 'a', as_of: '2026-11-30T10:00:00.000Z' }, expected: 10_000 };

  it('goes on page by page with the count that was shown, and adds up what came of each', async () => {
    const asked: object[] = [];
    const done: number[] = [];
    const pages: DismissedLetters[] = [
      { dismissed: 4_990, left: { ...none, in_batch: 10 }, next: 'p2' },
      { dismissed: 4_000, left: { delivery_decides: 900, in_batch: 99, closed_before: 1 } },
    ];
    const ask = async (body: object) => {
      asked.push(body);
      return pages[asked.length - 1] as DismissedLetters;
    };
    const outcome = await dismissLetters(group, 'handed over', { onProgress: (count) => done.push(count), ask });
    expect(outcome).toEqual({ dismissed: 8_990, left: { delivery_decides: 900, in_batch: 109, closed_before: 1 } });
    expect(asked).toEqual([
      { ...group, reason: 'handed over' },
      { ...group, reason: 'handed over', after: 'p2' },
    ]);
    expect(done).toEqual([5_000, 10_000]);
  });

  it('ends with the refusal of the page that is refused', async () => {
    const ask = () => Promise.reject(new Error('group-changed'));
    await expect(dismissLetters(group, 'handed over', { onProgress: () => undefined, ask })).rejects.toThrow('group-changed');
  });
});
