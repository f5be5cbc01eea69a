import { beforeEach, describe, expect, it } from '@jest/globals';
import { unrouted } from '#contracts';
import type { AcceptedItem, BalanceSources } from './balance-sources.js';
import type { IntakePlace } from './compare.js';
import type { ReceivedDay } from './received.js';
import { takeBalance } from './take-balance.js';

const to = '2026-06-01T12:00:00.000Z';
let accepted: AcceptedItem[];
/** By event id and destination; absent: its owner has no such delivery. */
let owned: Map<string, { state: 'delivered' | 'waiting'; complete: boolean }>;
let places: Map<string, IntakePlace>;
let held: Set<string>;
let received: ReceivedDay[];
/** Runs before each question to the owner. */
let beforeStates: (round: number) => void;
let asked: { pages: { to?: string; after?: string }[]; states: number; biggest: number };

const nameOf = ({ event_id, destination }: { event_id: string; destination: string }) => `${event_id} ${destination}`;
const pageSize = 500;
const sources: BalanceSources = {
  accepted: async (page) => {
    asked.pages.push(page);
    const from = Number(page.after ?? 0);
    const more = from + pageSize < accepted.length;
    return { items: accepted.slice(from, from + pageSize), to, ...(more && { next: String(from + pageSize) }) };
  },
  states: async (eventIds) => {
    asked.states += 1;
    asked.biggest = Math.max(asked.biggest, eventIds.length);
    beforeStates(asked.states);
    const deliveriesOf = (event_id: string) =>
      ['crm', 'marketing'].flatMap((destination) => {
        const word = owned.get(nameOf({ event_id, destination }));
        return word ? [{ destination, ...word, as_of: to, operations: [] }] : [];
      });
    return { items: eventIds.map((event_id) => ({ event_id, deliveries: deliveriesOf(event_id) })) } as never;
  },
  places: async (ids) => {
    asked.biggest = Math.max(asked.biggest, ids.length);
    return ids.map((id) => places.get(nameOf(id)) ?? 'overdue');
  },
  held: async () => held,
  received: async ({ from }) => received.filter(({ day }) => day === from),
};
const take = () => takeBalance(sources, { pauseMs: 1 });

beforeEach(() => {
  accepted = [];
  owned = new Map();
  places = new Map();
  held = new Set();
  received = [];
  beforeStates = () => undefined;
  asked = { pages: [], states: 0, biggest: 0 };
});
const accept = (event_id: string, destination = 'crm'): string => {
  const own = destination === unrouted;
  accepted.push({ event_id, destination, state: own ? 'dead' : 'accepted', own });
  return nameOf({ event_id, destination });
};
const delivered = { state: 'delivered', complete: true } as const;

describe('takeBalance', () => {
  it('goes through every page of one window, asking for no more than the contract allows', async () => {
    for (let count = 0; count < 1_234; count++) owned.set(accept(`event-${count}`), delivered);
    expect(await take()).toMatchObject({ balanced: true, at: to, accepted: 1_234, found: { delivered: 1_234 } });
    expect(asked.pages).toEqual([{}, { to, after: '500' }, { to, after: '1000' }]);
    expect(asked.biggest).toBe(500);
  });

  it('names what is nowhere and what has lost operations', async () => {
    owned.set(accept('whole'), delivered);
    owned.set(accept('partial', 'marketing'), { state: 'waiting', complete: false });
    accept('lost', 'marketing');
    expect(await take()).toMatchObject({
      balanced: false,
      found: { delivered: 1 },
      missing: [{ event_id: 'lost', destination: 'marketing' }],
      incomplete: [{ event_id: 'partial', destination: 'marketing' }],
    });
  });

  it('keeps the destinations of one lead apart', async () => {
    owned.set(accept('e'), delivered);
    accept('e', 'marketing');
    expect((await take()).missing).toEqual([{ event_id: 'e', destination: 'marketing' }]);
  });

  it('asks nobody about what intake itself owns', async () => {
    accept('e', unrouted);
    expect(await take()).toMatchObject({ balanced: true, found: { dead: 1 } });
    expect(asked.states).toBe(0);
  });

  it('counts what waits at intake by its place', async () => {
    places.set(accept('queued'), 'outbox');
    places.set(accept('stuck'), 'parked');
    places.set(accept('new'), 'young');
    places.set(accept('paused', 'marketing'), 'overdue');
    held.add('marketing');
    expect(await take()).toMatchObject({ balanced: true, outbox: 1, parked: 1, unclaimed_young: 1, unclaimed_held: 1 });
  });

  it('looks again before it calls missing what is just on its way', async () => {
    const name = accept('moving');
    places.set(name, 'claimed');
    beforeStates = (round) => {
      if (round === 3) owned.set(name, delivered);
    };
    expect(await take()).toMatchObject({ balanced: true, found: { delivered: 1 } });
    expect(asked.states).toBe(3);
  });

  it('adds up what was received, day by day, for as many days as it looks back', async () => {
    const counts = { organization: 'demo', source: 'website', received: 2, accepted: 1, repeats: 1, conflicts: 0, rejected: 0 };
    received = ['2026-05-24', '2026-05-25', '2026-06-01', '2026-06-02'].map((day) => ({ ...counts, day }));
    expect(await take()).toMatchObject({ balanced: true, received: { received: 4, accepted: 2, repeats: 2, differences: [] } });
    received.push({ ...counts, day: '2026-05-30', received: 3 });
    expect(await take()).toMatchObject({ balanced: false, received: { differences: [{ day: '2026-05-30' }] } });
  });

  it('gives no balance where a service does not answer', async () => {
    for (let count = 0; count < 1_500; count++) accept(`event-${count}`);
    beforeStates = () => {
      throw new Error('away');
    };
    await expect(take()).rejects.toThrow('away');
  });
});
