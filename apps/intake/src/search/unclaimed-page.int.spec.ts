import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { WaitingItem } from '#delivery';
import type { Database } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, openIntakeDatabase, submission } from '../../test/fixture.js';
import { acceptLeads } from '../accept-leads.js';
import { type UnclaimedPageRequest, unclaimedPage, unclaimedPageRequest } from './unclaimed-page.js';

jest.setTimeout(60_000);

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
      await db.sql('spec.age', "update lead set submitted_at = clock_now() - $2::int * interval '1 minute' where event_id = $1", [
        id,
        n % 5,
      ]);
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
});
