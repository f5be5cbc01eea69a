import { describe, expect, it } from '@jest/globals';
import type { LeadResolved } from '#contracts';
import type { ConsumedRecord, Receipt, Received } from '#messaging';
import { ChannelDesk } from './channel-desk.js';

class SampleReceipt implements Receipt {
  readonly record = {} as ConsumedRecord;
  stale = false;
  settled = 0;
  readonly given: number[] = [];

  settle(): void {
    this.settled += 1;
  }

  redeliverIn(delayMs: number): void {
    this.given.push(delayMs);
  }
}

const sample = (count: number) =>
  Array.from({ length: count }, () => ({ receipt: new SampleReceipt(), result: { ok: false, reason: 'tombstone' } }) as const);
const givenBack = (all: readonly { receipt: SampleReceipt }[]): number => all.filter(({ receipt }) => receipt.given.length > 0).length;

function openDesk(most: number) {
  const taken: Received<LeadResolved>[] = [];
  const reasons = new Set<string>();
  const group = { pause: (reason: string) => void reasons.add(reason), resume: (reason: string) => void reasons.delete(reason) };
  const desk = new ChannelDesk({ channel: 'sales', group: () => group, most });
  desk.serve({ take: (received) => void taken.push(...received) });
  const take = (all: readonly { receipt: SampleReceipt }[]) => desk.take(all as unknown as Received<LeadResolved>[]);
  return { desk, take, taken, reasons };
}

describe('the desk of a channel', () => {
  it('hands on as many as it has places for, and gives the others back for later', () => {
    const { take, taken } = openDesk(20);
    const records = sample(30);
    take(records);
    expect([taken.length, givenBack(records)]).toEqual([20, 10]);
    for (const ms of records.flatMap(({ receipt }) => receipt.given)) expect(ms).toBeGreaterThanOrEqual(500);
  });

  it('has a place again for each record that its engine is done with', () => {
    const { take, taken } = openDesk(20);
    const first = sample(20);
    take(first);
    taken[0]?.receipt.settle();
    taken[1]?.receipt.redeliverIn(40);
    expect([first[0]?.receipt.settled, first[1]?.receipt.given]).toEqual([1, [40]]);
    const next = sample(3);
    take(next);
    expect([taken.length, givenBack(next)]).toEqual([22, 1]);
  });

  it('has a place again for each record whose assignment ended', () => {
    const { take, taken } = openDesk(20);
    const lost = sample(20);
    take(lost);
    for (const { receipt } of lost) receipt.stale = true;
    take(sample(5));
    expect(taken).toHaveLength(25);
  });

  it('leaves the engine of a blocked channel a few to find out with, and pauses nobody else', () => {
    const { desk, take, taken, reasons } = openDesk(400);
    desk.control.pause('destination');
    const records = sample(100);
    take(records);
    expect([taken.length, givenBack(records)]).toEqual([16, 84]);
    expect(reasons.size).toBe(0);
    desk.control.resume('destination');
    take(sample(100));
    expect(taken).toHaveLength(116);
  });

  it('pauses the group for what all channels share, under a reason of its own', () => {
    const { desk, reasons } = openDesk(1);
    desk.control.pause('database');
    expect([...reasons]).toEqual(['database (sales)']);
    desk.control.resume('database');
    expect([...reasons]).toEqual([]);
  });
});
