import { describe, expect, it } from '@jest/globals';
import { PauseBook } from './pause-book.js';

describe('PauseBook', () => {
  it('keeps a place paused until every reason is gone', () => {
    const book = new PauseBook(['main', 'tier']);
    book.pause('vault');
    book.pause('destination', ['main']);
    book.resume('vault');
    expect(book.isPaused('main', 0)).toBe(true);
    expect(book.isPaused('tier', 0)).toBe(false);
    book.resume('destination');
    expect(book.isPaused('main', 0)).toBe(false);
    expect(book.reasons()).toEqual([]);
  });

  it('pauses one partition without touching its neighbours', () => {
    const book = new PauseBook(['main']);
    book.pause('registry', [{ topic: 'main', partition: 1 }]);
    expect([0, 1, 2].map((partition) => book.isPaused('main', partition))).toEqual([false, true, false]);
    book.resume('registry', [{ topic: 'main', partition: 1 }]);
    expect(book.isPaused('main', 1)).toBe(false);
  });

  it('can let one topic go on while the others stay paused', () => {
    const book = new PauseBook(['main', 'tier']);
    book.pause('hold');
    book.resume('hold', ['tier']);
    expect(book.isPaused('main', 4)).toBe(true);
    expect(book.isPaused('tier', 4)).toBe(false);
    expect(book.reasons()).toEqual(['hold']);
  });

  it('takes a second pause for the same reason as one, and an unknown resume as nothing', () => {
    const book = new PauseBook(['main']);
    book.pause('vault');
    book.pause('vault');
    book.resume('other');
    book.resume('vault');
    expect(book.isPaused('main', 0)).toBe(false);
  });

  it('tells a decision from a fault', () => {
    const book = new PauseBook(['main', 'tier']);
    book.pause('vault');
    expect([book.isPaused('main', 0), book.isDeliberate('main', 0)]).toEqual([true, false]);
    book.pause('destination', ['main']);
    expect([book.isDeliberate('main', 0), book.isDeliberate('tier', 0)]).toEqual([true, false]);
  });

  it.each(['database (sales)', 'vault (marketing)', 'owner', 'something new'])('takes %s for a fault', (reason) => {
    const book = new PauseBook(['main']);
    book.pause(reason);
    expect([book.isPaused('main', 0), book.isDeliberate('main', 0)]).toEqual([true, false]);
  });

  it.each(['destination', 'hold', 'hold (sales)'])('takes %s for a decision', (reason) => {
    const book = new PauseBook(['main']);
    book.pause(reason);
    expect(book.isDeliberate('main', 0)).toBe(true);
  });
});
