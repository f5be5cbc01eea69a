import { describe, expect, it } from '@jest/globals';
import type { LeadResolved } from '#contracts';
import type { Received } from '#messaging';
import { createLogger, DatabaseUnavailable, StatementFailed } from '#runtime';
import type { ChannelDesk } from './channel-desk.js';
import { Desks } from './desks.js';

interface Sample {
  id: string;
  settled: number;
  again: number;
}
const samples = new Map<unknown, Sample>();
/** A lead of which everybody is told on the one channel; its id says what else is to be known of it. */
function sample(id: string): Received<LeadResolved> & { sample: Sample } {
  const one: Sample = { id, settled: 0, again: 0 };
  const receipt = {
    record: { topic: 'lead.resolved' },
    stale: false,
    settle: () => {
      one.settled += 1;
    },
    redeliverIn: () => {
      one.again += 1;
    },
  };
  const event = { event_id: id, source: 'website', destination: 'crm', primary: true, outcome: 'delivered', test: false };
  const received = { receipt, result: { ok: true, event }, sample: one } as unknown as Received<LeadResolved> & { sample: Sample };
  samples.set(received, one);
  return received;
}

function open({ fails = () => undefined }: { fails?: (ids: string[]) => Error | undefined } = {}) {
  const taken: string[] = [];
  const noted: string[][] = [];
  const idOf = (one: unknown): string => samples.get(one)?.id ?? '';
  const desk = { take: (all: unknown[]) => void taken.push(...all.map(idOf)) } as unknown as ChannelDesk;
  const desks = new Desks({
    site: { routing: [{ match: {}, destinations: ['crm'], chat: 'sales', owner: 'ada', policy: 'default' }], owners: { ada: {} as never } },
    channels: new Map([['sales', { recipientKey: 'r1', sandbox: false } as never]]),
    desks: new Map([['sales', desk]]),
    ownerless: {
      isOne: ({ event_id }) => event_id.startsWith('ownerless'),
      note: async (all) => {
        const ids = all.map(idOf);
        noted.push(ids);
        const error = fails(ids);
        if (error !== undefined) throw error;
      },
    },
    outdated: {
      mayBe: (one) => idOf(one).startsWith('failed'),
      end: async (all) => new Set(all.filter((one) => idOf(one) === 'failed-before')),
    },
    logger: createLogger('desks-spec', 'silent'),
  });
  return { desks, taken, noted };
}
const looked = () => new Promise((resolve) => setImmediate(resolve));

describe('the desks of the channels', () => {
  it('hand on at once what need not be looked at, and the rest once its letters are written', async () => {
    const { desks, taken, noted } = open();
    desks.take([sample('delivered'), sample('ownerless'), sample('failed')]);
    expect(taken).toEqual(['delivered']);
    await looked();
    expect(noted).toEqual([['ownerless', 'failed']]);
    expect(taken).toEqual(['delivered', 'ownerless', 'failed']);
  });

  it('are done with what is no news any more', async () => {
    const { desks, taken } = open();
    const before = sample('failed-before');
    desks.take([before]);
    await looked();
    expect([taken, before.sample.settled]).toEqual([[], 1]);
  });

  it('tell nothing before it was looked at: it comes again while the database is away', async () => {
    const { desks, taken } = open({ fails: () => new DatabaseUnavailable('away') });
    const [one, other] = [sample('ownerless'), sample('failed')];
    desks.take([one, other]);
    await looked();
    expect([taken, one.sample, other.sample]).toEqual([
      [],
      { id: 'ownerless', settled: 0, again: 1 },
      { id: 'failed', settled: 0, again: 1 },
    ]);
  });

  it('hold nothing up for one that PostgreSQL does not take: it is told all the same', async () => {
    const refused = new StatementFailed({ code: '22P02' });
    const { desks, taken } = open({ fails: (ids) => (ids.includes('ownerless-odd') ? refused : undefined) });
    desks.take([sample('ownerless-odd'), sample('ownerless')]);
    await looked();
    expect(taken.sort()).toEqual(['ownerless', 'ownerless-odd']);
  });
});
