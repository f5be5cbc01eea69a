import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { WaitingItem } from '#delivery';
import type { Database } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, openIntakeDatabase, submission } from '../../test/fixture.js';
import { acceptLeads } from '../accept-leads.js';
import { pageSql, type UnclaimedPageRequest, unclaimedPage, unclaimedPageRequest } from './unclaimed-page.js';

jest.setTimeout(60_000);

const noId = '00000000-0000-0000-0000-000000000000';

describe('deliveries that nobody has claimed', () => {
  let database: TestDatabase;
  let db: Database;
  beforeAll(async () => {
    database = await testDatabase('unclaimed_page');
    db = await openIntakeDatabase(database.url);
  });
  afterAll(async () => {
    await db?.close();
    await database?.drop();
  });

  async function accept(count: number): Promise<string[]> {
    const tools = acceptTools(db);
    const { context } = tools.telemetry.startSpan('test', { kind: 'server' });
    const answers = await acceptLeads(
      tools,
      Array.from({ length: count }, () => ({ submission: submission(), trace: context })),
    );
    return answers.map((answer) => {
      if (answer.kind !== 'accepted') throw new Error('not accepted');
      return answer.eventId;
    });
  }
  async function pages(request: Partial<UnclaimedPageRequest>): Promise<Omit<WaitingItem, 'attempts'>[]> {
    const found: Omit<WaitingItem, 'attempts'>[] = [];
    for (let after: UnclaimedPageRequest['after']; ; ) {
      const { items } = await unclaimedPage(db, unclaimedPageRequest.parse({ destinations: ['crm'], limit: 3, ...request, after }));
      const last = items.at(-1);
      if (last === undefined) return found;
      found.push(...items);
      after = { submitted_us: last.submitted_us, event_id: last.event_id, destination: last.destination };
    }
  }

  it('are paged by the age of the lead, each once, without what is claimed, has ended or is for others', async () => {
    const ids = await accept(8);
    for (const [n, id] of ids.entries())
      await db.sql(
        'spec.age',
        `with aged as (update lead set submitted_at = clock_now() - $2::int * interval '1 minute' where event_id = $1 returning *)
        update delivery d set submitted_at = aged.submitted_at from aged where d.event_id = aged.event_id`,
        [id, n % 5],
      );
    const [claimed, ended] = ids;
    await db.sql('spec.claim', "update delivery set claimed_at = clock_now() where event_id = $1 and destination = 'crm'", [claimed]);
    await db.sql('spec.end', "update delivery set state = 'expired' where event_id = $1 and destination = 'crm'", [ended]);
    const found = await pages({});
    expect(new Set(found.map(({ event_id }) => event_id))).toEqual(new Set(ids.slice(2)));
    expect(found).toHaveLength(6);
    const times = found.map(({ submitted_us }) => Number(submitted_us));
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(found[0]).toMatchObject({
      destination: 'crm',
      state: 'accepted',
      lead_ref: expect.stringMatching(/^L-/),
      event: expect.any(String),
    });
    expect(await pages({ destinations: ['crm', 'marketing'] })).toHaveLength(14);
    expect(await pages({ destinations: ['elsewhere'] })).toEqual([]);
  });

  it('are paged by when they were accepted where nothing else is written there', async () => {
    await db.sql('spec.clear', 'delete from delivery', []);
    const ids = await accept(5);
    await db.sql('spec.older', 'update delivery set submitted_at = null', []);
    expect((await pages({ limit: 2 })).map(({ event_id }) => event_id).sort()).toEqual(ids.toSorted());
  });

  it('are found by an index, from where the page begins, however many there are', async () => {
    const many = `insert into delivery (event_id, destination, state, deadline_at, submitted_at, as_of, announced_at, announce_at)
      select gen_random_uuid(), 'crm', 'accepted', clock_now(), clock_now() - n * interval '1 second', clock_now(), clock_now(), clock_now()
      from generate_series(1, 5000) as n`;
    await db.sql('spec.many', many, []);
    const values = [['crm', 'marketing'], String((Date.now() - 3_600_000) * 1_000), noId, 'crm', 50];
    const plan = await db.sql<{ 'QUERY PLAN': string }>('spec.plan', `explain (analyze, timing off) ${pageSql}`, values);
    const text = plan.map((row) => row['QUERY PLAN']).join('\n');
    const [, rows] = /using delivery_unclaimed_oldest .*actual rows=([\d.]+)/.exec(text) ?? [];
    expect(Number(rows)).toBe(50);
    expect(text).toMatch(/Index Cond: .*ROW/);
  });
});
