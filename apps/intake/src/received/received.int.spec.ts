import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { addsUp, daysOfBalance, type ReceivedDay, sumReceived } from '#delivery';
import { type Database, DatabaseUnavailable, newEventId } from '#runtime';
import { eventually, type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, openIntakeDatabase, silent, site, source, submission } from '../../test/fixture.js';
import { type Doors, startDoors } from '../../test/start-doors.js';
import { type AcceptTools, acceptLeads } from '../accept-leads.js';
import { toRejection } from '../kafka/to-rejection.js';
import { insertRejections } from '../store/insert-rejections.js';
import { receivedDays } from './received-days.js';
import { RefusalsTally } from './refusals-tally.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

const keyHash = `sha256:${createHash('sha256').update('key-one').digest('hex')}`;
let database: TestDatabase;
let db: Database;
let owner: pg.Client;
let tools: AcceptTools;
let doors: Doors;

beforeAll(async () => {
  database = await testDatabase('intake_received');
  db = await openIntakeDatabase(database.url);
  owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  tools = acceptTools(db, { site: site({ sources: [source({ keyHashes: [keyHash] }), source({ id: 'partner-feed' })] }) });
  doors = await startDoors({ db, tools, logger: silent, bodyLimitBytes: 2_000 });
});
afterAll(async () => {
  await doors?.app.close();
  await owner?.end();
  await db?.close();
  await database?.drop();
});
beforeEach(() => clear());
const clear = () =>
  owner.query('truncate intake.received, intake.lead, intake.delivery, intake.intake_key, intake.vault, intake.rejected, intake.outbox');

const days = async (): Promise<ReceivedDay[]> => {
  const all = daysOfBalance(new Date());
  return (await receivedDays(db, { from: all[0]?.from ?? '', to: all.at(-1)?.to ?? '' })).items;
};
const counted = async (from: string) => {
  const { differences: _, ...sums } = sumReceived((await days()).filter(({ source: name }) => name === from));
  return sums;
};
const { context } = acceptTools({} as Database).telemetry.startSpan('test', { kind: 'server' });

/** A record of `leads` that is refused; the same offset is the same record. */
const refusedRecord = (offset: number, from: string | undefined) =>
  toRejection(
    tools.ring,
    { topic: 'leads', partition: 0, offset: BigInt(offset), key: null, value: null, headers: {}, timestampMs: 1_000 },
    {
      refused: {
        class: from === undefined ? 'unknown_source' : 'invalid',
        code: 'x',
        errors: [],
        ...(from !== undefined && { source: source({ id: from }) }),
      },
      now: new Date(),
      trace: context,
    },
  );

describe('what was received', () => {
  it('is the sum of what became of it, whatever comes how often and at once', async () => {
    const from = fc.constantFrom('website', 'partner-feed');
    const arrival = fc.record({ from, id: fc.nat(4), words: fc.constantFrom('one', 'two') });
    const refusal = fc.record({ from: fc.option(from, { nil: undefined }), offset: fc.nat(5) });
    const batches = fc.array(fc.array(arrival, { minLength: 1, maxLength: 6 }), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(batches, fc.array(refusal, { maxLength: 6 }), async (waves, refusals) => {
        await clear();
        const arrivals = (wave: (typeof waves)[number]) =>
          wave.map((one) => ({
            submission: submission({ source: one.from, sourceEventId: `id-${one.id}`, message: one.words }),
            trace: context,
          }));
        const answers = (await Promise.all(waves.map((wave) => acceptLeads(tools, arrivals(wave))))).flat();
        for (const { from: name, offset } of refusals) await insertRejections(db, [refusedRecord(offset, name)]);
        const all = await days();
        expect(all.every(addsUp)).toBe(true);
        const kinds = (kind: string) => answers.filter((answer) => answer.kind === kind).length;
        const stored = new Set(refusals.map(({ offset }) => offset)).size;
        expect(sumReceived(all)).toEqual({
          received: answers.length + stored,
          accepted: kinds('accepted'),
          repeats: kinds('replayed'),
          conflicts: kinds('conflict'),
          rejected: stored,
          differences: [],
        });
        for (const name of ['website', 'partner-feed']) {
          expect((await counted(name)).received).toBeGreaterThanOrEqual(waves.flat().filter((one) => one.from === name).length);
        }
      }),
      { numRuns: 25 },
    );
  });

  it('counts nothing of a transaction that failed', async () => {
    const failing = {
      ...tools,
      db: {
        sql: <R>(name: string, text: string, values: readonly unknown[]) =>
          db.transaction(async (tx) => {
            const rows = await tx.sql<R>(name, text, values);
            if (name === 'intake.insert_leads') throw new DatabaseUnavailable('gone');
            return rows;
          }),
      },
    };
    await expect(acceptLeads(failing, [{ submission: submission(), trace: context }])).rejects.toThrow();
    expect(await days()).toEqual([]);
  });

  it('names the day and source of a lead that is gone, and one that was never counted', async () => {
    await acceptLeads(tools, [{ submission: submission(), trace: context }]);
    await owner.query('delete from intake.lead');
    expect((await days()).map((day) => [day.source, day.accepted, day.leads, addsUp(day)])).toEqual([['website', 1, 0, false]]);
    await clear();
    await acceptLeads(tools, [{ submission: submission(), trace: context }]);
    await owner.query('delete from intake.received');
    expect((await days()).map((day) => [day.source, day.accepted, day.leads, addsUp(day)])).toEqual([['website', 0, 1, false]]);
  });

  it('of the HTTP door is everything that is settled, with its outcome', async () => {
    const post = async (body: unknown, more: Record<string, string> = {}) => {
      const answer = await fetch(`${doors.url}/v1/leads`, {
        method: 'POST',
        headers: { authorization: 'Bearer key-one', 'content-type': 'application/json', ...more },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
      await answer.arrayBuffer();
      return answer.status;
    };
    const lead = { source_event_id: 'web-1', form: 'contact', contact: { email: 'ada@example.test' }, consent: { given: true } };
    expect(await post(lead)).toBe(202);
    expect(await post(lead)).toBe(202);
    expect(await post({ ...lead, message: 'other' })).toBe(422);
    expect(await post({ ...lead, source_event_id: 'web-2', contact: { email: 'no address' } })).toBe(422);
    expect(await post('{')).toBe(400);
    expect(await post({ ...lead, message: 'x'.repeat(3_000) })).toBe(413);
    expect(await post(lead, { 'content-type': 'text/plain' })).toBe(415);
    expect(await post({ ...lead, source_event_id: 'web-3', submitted_at: '2999-01-01T00:00:00Z' })).toBe(422);
    // Not of this source, and not a lead.
    expect(await post(lead, { authorization: 'Bearer wrong' })).toBe(401);
    await fetch(`${doors.url}/v1/leads/${newEventId()}`, { headers: { authorization: 'Bearer key-one' } });
    await eventually('the refusals', async () => {
      await doors.countRefusals();
      return (await counted('website')).rejected === 5;
    });
    expect(await counted('website')).toEqual({ received: 8, accepted: 1, repeats: 1, conflicts: 1, rejected: 5 });
  });

  it('is kept of refusals while PostgreSQL is away, and written when it is back', async () => {
    let away = true;
    const tally = new RefusalsTally({
      db: { sql: (...asked) => (away ? Promise.reject(new DatabaseUnavailable('away')) : db.sql(...asked)) },
      logger: silent,
    });
    tally.note(source(), 'invalid');
    tally.note(source(), 'unavailable');
    await tally.flush();
    tally.note(source(), 'malformed');
    away = false;
    await tally.flush();
    expect(await counted('website')).toMatchObject({ received: 2, rejected: 2 });
  });

  it('counts the leads in parts, none twice and none left out', async () => {
    const arrivals = Array.from({ length: 10 }, (_, index) => ({
      submission: submission({ source: index % 3 === 0 ? 'partner-feed' : 'website' }),
      trace: context,
    }));
    await acceptLeads(tools, arrivals);
    const all = daysOfBalance(new Date());
    for (const atOnce of [1, 3, 5, 10, 11]) {
      const { items } = await receivedDays(db, { from: all[0]?.from ?? '', to: all.at(-1)?.to ?? '' }, atOnce);
      expect(items.map(({ source: name, accepted, leads }) => [name, accepted, leads])).toEqual([
        ['partner-feed', 4, 4],
        ['website', 6, 6],
      ]);
    }
  });

  it('compares no leads of the days on which an intake of before may have been at work, which counts nothing', async () => {
    await acceptLeads(tools, [{ submission: submission(), trace: context }]);
    const ago = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
    const put = (day: string, slot: number) =>
      owner.query(
        "insert into intake.received (day, organization, source, slot, received, accepted) values ($1, 'demo', 'website', $2, 2, 2)",
        [day, slot],
      );
    await put(ago(2), -1);
    await put(ago(4), -1);
    const leads = async () => new Map((await days()).map(({ day, leads: number }) => [day, number]));
    // Nothing was counted before today.
    expect(await leads()).toEqual(
      new Map([
        [ago(4), 0],
        [ago(2), undefined],
        [ago(0), undefined],
      ]),
    );
    await put(ago(1), 3);
    expect(await leads()).toEqual(
      new Map([
        [ago(4), 0],
        [ago(2), undefined],
        [ago(1), undefined],
        [ago(0), 1],
      ]),
    );
  });

  it('tells the asked days alone, and no number of leads where they may be purged', async () => {
    await owner.query(`insert into intake.received (day, organization, source, slot, received, accepted)
      values ('2026-01-01', 'demo', 'website', 1, 2, 2), ('2026-01-01', 'demo', 'website', 2, 3, 3), ('2026-01-02', 'demo', 'website', 1, 1, 1)`);
    const { items } = await receivedDays(db, { from: '2026-01-01', to: '2026-01-02' });
    expect(items).toEqual([
      { day: '2026-01-01', organization: 'demo', source: 'website', received: 5, accepted: 5, repeats: 0, conflicts: 0, rejected: 0 },
    ]);
  });
});
