import { describe, expect, it } from '@jest/globals';
import { sumUnread } from './sum-unread.js';
import { type UnreadLead, UnreadPartition } from './unread-partition.js';

const lead = (offset: number, more: Partial<UnreadLead> = {}): UnreadLead => ({
  offset: BigInt(offset),
  eventId: `e-${offset}`,
  submittedAtMs: 1_000 + offset,
  test: false,
  ...more,
});
const at = (committed: number, high: number, low = 0) => ({ committed: BigInt(committed), low: BigInt(low), high: BigInt(high) });
const offsetsOf = ({ leads }: UnreadPartition) => leads.map(({ offset }) => Number(offset));

describe('what a group has not read of a partition', () => {
  it('is looked at once, from the committed offset on, and forgotten as the group goes on', () => {
    const unread = new UnreadPartition();
    unread.move(at(10, 20));
    expect([unread.next, unread.unseen]).toEqual([10n, 10]);
    unread.saw([lead(11), lead(14), lead(15)], 16n);
    unread.move(at(15, 30));
    expect(offsetsOf(unread)).toEqual([15]);
    expect([unread.next, unread.unseen]).toEqual([16n, 14]);
    unread.move(at(30, 30));
    expect([offsetsOf(unread), unread.unseen]).toEqual([[], 0]);
  });

  it('begins where the log does when retention took what was committed', () => {
    const unread = new UnreadPartition();
    unread.move(at(3, 20, 8));
    expect([unread.next, unread.unseen]).toEqual([8n, 12]);
  });

  it.each([
    ['the group went back', at(5, 20)],
    ['the topic was made anew', at(0, 4)],
  ])('is looked at again from the begin when %s', (_, standing) => {
    const unread = new UnreadPartition();
    unread.move(at(10, 20));
    unread.saw([lead(12)], 20n);
    unread.move(standing);
    expect([offsetsOf(unread), unread.next]).toEqual([[], standing.committed]);
  });

  it('is nothing where the commit is newer than what was read of the end', () => {
    const unread = new UnreadPartition();
    unread.move(at(21, 20));
    expect(unread.unseen).toBe(0);
  });

  it('is all looked at where the rest of the log has no record any more', () => {
    const unread = new UnreadPartition();
    unread.move(at(0, 5));
    unread.saw([], undefined);
    expect(unread.unseen).toBe(0);
  });

  it('loses what was claimed in a stretch, and nothing outside of it', () => {
    const unread = new UnreadPartition();
    unread.move(at(0, 5));
    unread.saw(
      [0, 1, 2, 3].map((offset) => lead(offset)),
      5n,
    );
    expect(unread.forget({ from: 1, to: 3 }, new Set(['e-0', 'e-2', 'e-3']))).toBe(1);
    expect(offsetsOf(unread)).toEqual([0, 1, 3]);
  });
});

describe('the sum of partitions', () => {
  it('counts each lead once, tells test leads apart, and has the oldest submission', () => {
    const partitions = [
      { leads: [lead(5), lead(9, { eventId: 'e-5' }), lead(6, { test: true, submittedAtMs: 7 })], unseen: 0 },
      { leads: [lead(3, { eventId: 'other' })], unseen: 0 },
    ];
    expect(sumUnread(partitions)).toEqual({
      exact: true,
      all: { count: 3, oldestAtMs: 7 },
      real: { count: 2, oldestAtMs: 1_003 },
    });
  });

  it('is an upper bound while records were not looked at, and knows no age where none was', () => {
    expect(sumUnread([{ leads: [lead(5)], unseen: 40 }])).toMatchObject({ exact: false, all: { count: 41, oldestAtMs: 1_005 } });
    expect(sumUnread([{ leads: [], unseen: 7 }])).toEqual({ exact: false, all: { count: 7 }, real: { count: 7 } });
    expect(sumUnread([])).toEqual({ exact: true, all: { count: 0 }, real: { count: 0 } });
  });
});
