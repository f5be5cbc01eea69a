import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type FiguresAnswer, sumReceived } from '#delivery';
import { type Database, InternalUnavailable } from '#runtime';
import { eventually, type TestDatabase, testDatabase } from '#testkit';
import { storeMany } from '../../test/many-letters.js';
import { openOperatorDatabase, silent } from '../../test/rig.js';
import type { Person } from '../people/person.js';
import { balanceEveryS, keepBalance, toKept } from './keep-balance.js';
import { overviewAnswer, readOverview } from './read-overview.js';
import { takeSample } from './samples.js';

jest.setTimeout(60_000);

let database: TestDatabase;
let db: Database;
let figures: () => Promise<FiguresAnswer>;
let asked: object[];

const sql = <R>(text: string, values: unknown[] = []) => db.sql<R>(createHash('sha1').update(text).digest('hex'), text, values);
const person = (organizations: Person['organizations']): Person => {
  return { subject: 'ada', name: 'Ada', roles: ['viewer'], permissions: ['list'], organizations };
};
const clients = new Map([
  [
    'crm-writer',
    {
      post: async <T>(_: string, body: object) => {
        asked.push(body);
        return (await figures()) as T;
      },
    },
  ],
]);
const sample = () => takeSample({ db, clients, logger: silent });
const leaseUntil = async () => (await sql<{ until: Date | null }>('SELECT lease_until AS until FROM overview_balance'))[0]?.until ?? null;
const minuteLater = () => sql("UPDATE overview_sample SET at = at - interval '1 minute'");

beforeAll(async () => {
  database = await testDatabase('overview');
  db = await openOperatorDatabase(database.url);
  await storeMany(db, 500);
});
afterAll(async () => {
  await db?.close();
  await database?.drop();
});
beforeEach(async () => {
  await sql('DELETE FROM overview_sample');
  await sql('DELETE FROM overview_balance');
  asked = [];
  figures = async () => ({
    as_of: new Date().toISOString(),
    open: [
      { destination: 'crm', state: 'waiting', count: 7, age_ms: 9_000 },
      { destination: 'crm', state: 'held', count: 5, age_ms: 8_000 },
      { destination: 'crm', state: 'unclaimed', count: 90, age_ms: 7_000 },
    ],
    unclaimed_unknown: [],
    times: [{ at: '2026-06-01T12:00:00.000Z', measured: 10, p50: 900, p95: 2_000, p99: 4_000 }],
  });
});

describe('the overview', () => {
  it('tells what is open where and since when, whose turn it is, and how long leads took', async () => {
    await sample();
    const overview = overviewAnswer.parse(await readOverview(db, person('*')));
    const [open] = await sql<{ count: number; dead: number }>(`SELECT count(*)::int AS count,
      count(*) FILTER (WHERE destination = 'crm' AND class NOT IN ('deadline_exceeded', 'unverified_write'))::int AS dead
      FROM dead_letter WHERE state = 'open'`);
    expect(overview.counts).toEqual(
      expect.arrayContaining([
        { destination: 'crm', state: 'waiting', count: 7 },
        { destination: 'crm', state: 'held', count: 5 },
        { destination: 'crm', state: 'unclaimed', count: 90 },
        { destination: 'crm', state: 'dead', count: open?.dead },
      ]),
    );
    expect(overview.oldest).toContainEqual({ destination: 'crm', state: 'waiting', age_ms: 9_000 });
    expect(overview.work_by_owner).toMatchObject([{ owner: 'integration', open: open?.count }]);
    expect(overview.oldest).toContainEqual({ destination: 'crm', state: 'unclaimed', age_ms: 7_000 });
    expect(overview.backlog).toMatchObject([{ waiting: 7, held: 5, unclaimed: 90 }]);
    expect(overview.time_to_write).toMatchObject([{ p95: 2_000 }]);
    expect(overview.balance).toBeNull();
  });

  it('keeps one sample a minute for an hour of points, and a gap where a service did not answer', async () => {
    await sample();
    await sample();
    expect(asked).toEqual([{ times: true }]);
    await minuteLater();
    figures = () => Promise.reject(new InternalUnavailable('away'));
    await sample();
    expect(asked).toHaveLength(2);
    expect((await readOverview(db, person('*'))).backlog).toMatchObject([{ waiting: 7 }, { waiting: null, held: null, open: null }]);
    await sql("UPDATE overview_sample SET at = at - interval '2 hours'");
    const late = await readOverview(db, person('*'));
    expect(late).toMatchObject({ backlog: [], sampled_at: null, time_to_write: [{ p50: 900 }] });
  });

  it('leaves a gap in what lies unclaimed, and in the whole, where nobody could say, and nowhere else', async () => {
    const whole = await figures();
    figures = async () => ({ ...whole, open: whole.open.slice(0, 2), unclaimed_unknown: ['crm'] });
    await sample();
    expect((await readOverview(db, person('*'))).backlog).toMatchObject([{ waiting: 7, held: 5, unclaimed: null, open: null }]);
  });

  it('tells somebody of one organization of its letters alone', async () => {
    await sample();
    const overview = await readOverview(db, person(['other']));
    const [own] = await sql<{ count: number }>(
      "SELECT count(*)::int AS count FROM dead_letter WHERE state = 'open' AND organization = 'other'",
    );
    expect(overview.work_by_owner).toMatchObject([{ open: own?.count ?? 0 }].filter(({ open }) => open > 0));
    expect(overview).toMatchObject({ backlog: [], time_to_write: [], balance: null });
    expect(overview.counts.some(({ state }) => state === 'waiting')).toBe(false);
  });
});

describe('the balance of the overview', () => {
  it('is taken once in a while, and adds up', async () => {
    let pages = 0;
    const intake = {
      post: async (path: string) => {
        if (path.endsWith('deliveries:accepted')) pages += 1;
        return { items: [], to: new Date().toISOString() };
      },
    } as never;
    const owner = { post: async () => ({ items: [] }) } as never;
    const take = () => keepBalance({ db, intake, owner, logger: silent });
    await take();
    await take();
    expect(pages).toBe(1);
    expect((await readOverview(db, person('*'))).balance).toMatchObject({ balanced: true, accepted: 0, unaccounted: 0 });
  });

  it('is taken again within seconds while nothing was accepted or none could be taken, and says when until then', async () => {
    await sql('DELETE FROM overview_balance');
    const away = { post: () => Promise.reject(new InternalUnavailable('away')) } as never;
    await expect(keepBalance({ db, intake: away, owner: away, logger: silent })).rejects.toThrow(InternalUnavailable);
    const { as_of, balance, not_yet } = await readOverview(db, person('*'));
    expect({ balance, inMs: Number(not_yet?.balance) - Number(as_of) }).toEqual({ balance: null, inMs: balanceEveryS * 1_000 });
    expect((await readOverview(db, person(['other']))).not_yet).toBeUndefined();
    let accepted = 0;
    const began = async (secondsAgo: number, deliveries: number): Promise<number> => {
      await sql(`UPDATE overview_balance SET began_at = clock_now() - interval '${secondsAgo} seconds', at = clock_now(),
        balance = '{"accepted": ${deliveries}}'`);
      const intake = {
        post: async (path: string) => {
          if (path.endsWith('deliveries:accepted')) accepted += 1;
          return { items: [], to: new Date().toISOString() };
        },
      } as never;
      accepted = 0;
      await keepBalance({ db, intake, owner: { post: async () => ({ items: [] }) } as never, logger: silent });
      return accepted;
    };
    expect([await began(14, 0), await began(16, 0)]).toEqual([0, 1]);
    expect([await began(50, 5), await began(70, 5)]).toEqual([0, 1]);
    expect([await began(500, 50_000), await began(700, 50_000)]).toEqual([0, 1]);
  });

  it('is taken by one process however long it takes, and by another when that one is gone', async () => {
    let asked = 0;
    let answer = () => {};
    const intake = {
      post: async (path: string) => {
        if (!path.endsWith('deliveries:accepted')) return { items: [] };
        asked += 1;
        if (asked === 1) await new Promise<void>((resolve) => (answer = resolve));
        return { items: [], to: new Date().toISOString() };
      },
    } as never;
    const owner = { post: async () => ({ items: [] }) } as never;
    const leaseMs = 900;
    const take = () => keepBalance({ db, intake, owner, logger: silent }, leaseMs);
    const long = take();
    await eventually('the first to be at it', async () => asked === 1);
    const untilBefore = await leaseUntil();
    await eventually('the lease to be renewed', async () => Number(await leaseUntil()) > Number(untilBefore));
    const began = "UPDATE overview_balance SET began_at = began_at - interval '11 minutes'";
    // Its lease is no longer renewed from here on, as that of a process that is gone.
    await sql(began);
    await take();
    expect(asked).toBe(1);
    await eventually('another to take it', async () => {
      await take();
      return asked === 2;
    });
    expect(await leaseUntil()).toBeNull();
    answer();
    await long;
  });

  it('counts every accepted delivery in one sum', () => {
    const name = { event_id: 'e', destination: 'crm' };
    const found = { delivered: 5, waiting: 2, uncertain: 1, dead: 1, discarded: 1 };
    const kept = toKept({
      ...{ balanced: false, at: '2026-06-01T12:00:00.000Z', accepted: 14, found, missing: [name], incomplete: [name] },
      ...{ outbox: 1, parked: 0, unclaimed_young: 1, unclaimed_held: 0, received: sumReceived([]) },
    });
    expect(kept).toMatchObject({ delivered: 5, open: 5, dead: 1, discarded: 1, expired: 0, unaccounted: 2 });
    expect(kept.delivered + kept.open + kept.dead + kept.expired + kept.discarded + kept.erased + kept.unaccounted).toBe(14);
  });
});
