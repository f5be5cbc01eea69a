import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { headers, type LeadResolved } from '#contracts';
import type { UnresolvedItem } from '#delivery';
import type { ConsumedRecord, Receipt, Received } from '#messaging';
import { type Database, migrateService, openDatabase } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { migrations } from '../migrations/index.js';
import { resolvedLead } from '../spec/resolved-lead.js';
import { OwnerlessLeads, purgeOwnerless, purgeOwnerlessSql } from './ownerless-leads.js';
import { historyWithOwnerless, unresolvedWithOwnerless } from './ownerless-routes.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

const route = { match: { source: 'website' }, destinations: ['crm'], policy: 'default' };
const channel = { recipientKey: 'r1', sandbox: false };
let database: TestDatabase;
let db: Database;
let owner: pg.Client;

beforeAll(async () => {
  database = await testDatabase('notifier_ownerless');
  await migrateService({ url: database.url, service: 'notifier', migrations });
  db = await openDatabase({ url: database.url, role: 'ld_notifier', schema: 'notifier', applicationName: 'spec' });
  owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
});
afterAll(async () => {
  await owner?.end();
  await db?.close();
  await database?.drop();
});
beforeEach(async () => {
  await owner.query('TRUNCATE notifier.ownerless_lead, notifier.outbox');
});

/** `named`: by its rule as its owner. `channels`: where people may be told. */
function leads({ named, channels = ['sales'] }: { named?: string; channels?: string[] } = {}): OwnerlessLeads {
  return new OwnerlessLeads({
    db,
    site: { routing: [{ ...route, ...(named && { owner: named }) }], owners: { ada: { id: 'ada', name: 'Sales duty' } } },
    channels: new Map(channels.map((name) => [name, channel])),
    dlqTopic: 'dlq',
    relayWake: () => undefined,
  });
}
function resolved(changes: Partial<LeadResolved> = {}): Received<LeadResolved> & { result: { ok: true; event: LeadResolved } } {
  const event = resolvedLead(changes);
  const record = { topic: 'lead.resolved', key: Buffer.from('key'), value: Buffer.from(event.event_id), headers: {}, timestampMs: 1 };
  return { receipt: { record: record as unknown as ConsumedRecord } as Receipt, result: { ok: true, event } };
}
const letters = async (): Promise<Record<string, string>[]> =>
  (await owner.query('SELECT headers FROM notifier.outbox ORDER BY id')).rows.map(({ headers: texts }) => texts);
async function unresolved(limit: number): Promise<UnresolvedItem[]> {
  const items: UnresolvedItem[] = [];
  let after: string | undefined;
  do {
    const page = await unresolvedWithOwnerless(db)({ limit, after });
    items.push(...page.items);
    after = page.next;
  } while (after !== undefined);
  return items;
}

describe('a lead that belongs to nobody', () => {
  it('has one letter, however often and with whatever outcome it comes', async () => {
    const one = resolved({ outcome: 'dead' });
    const again = resolved({ event_id: one.result.event.event_id });
    await leads().note([one, again, one]);
    await leads().note([again]);
    expect(await letters()).toEqual([
      expect.objectContaining({
        [headers.eventId]: one.result.event.event_id,
        [headers.errorClass]: 'unknown_owner',
        [headers.errorCode]: 'no_owner',
        [headers.deadlineAt]: String(one.result.event.resolved_at.getTime() + 24 * 3_600_000),
      }),
    ]);
  });

  it('has one also where nobody can be told, and its record is kept for whoever lacks the letter', async () => {
    const one = resolved();
    const { event_id, lead_ref } = one.result.event;
    await leads({ named: 'gone', channels: [] }).note([one]);
    expect(await letters()).toMatchObject([{ [headers.eventId]: event_id, [headers.destinations]: 'ownerless' }]);
    expect(await unresolved(500)).toMatchObject([{ event_id, lead_ref, destination: 'ownerless', class: 'unknown_owner', state: 'dead' }]);
    const { items } = await historyWithOwnerless(db)({ items: [{ event_id, destination: 'ownerless' }], records: true });
    expect(items).toMatchObject([{ event_id, operations: [], attempts: [], event: Buffer.from(event_id).toString('base64') }]);
  });

  it('has none where its owner is known, where the site names no owners and no channel, where nobody need know of the outcome, and of another destination than the primary', async () => {
    await leads({ named: 'ada' }).note([resolved()]);
    await leads({ channels: [] }).note([resolved()]);
    await leads().note([resolved({ outcome: 'discarded' }), resolved({ primary: false }), resolved({ test: true })]);
    expect(await letters()).toEqual([]);
  });

  it('is named on every page once, and no more once its letter may be deleted', async () => {
    const all = [resolved(), resolved(), resolved(), resolved()];
    await leads().note(all);
    const ids = all.map(({ result }) => result.event.event_id).sort();
    const named = async (limit: number) => (await unresolved(limit)).map(({ event_id }) => event_id);
    for (const limit of [1, 2, 4, 500]) expect(await named(limit)).toEqual(ids);
    await owner.query(`UPDATE notifier.ownerless_lead SET noted_at = now() - interval '39 days 1 minute' WHERE event_id = $1`, [ids[0]]);
    expect(await named(2)).toEqual(ids.slice(1));
    await owner.query(`UPDATE notifier.ownerless_lead SET noted_at = now() - interval '41 days' WHERE event_id = $1`, [ids[0]]);
    expect(await purgeOwnerless(db, 500)).toBe(1);
    expect((await owner.query('SELECT event_id FROM notifier.ownerless_lead ORDER BY event_id')).rows).toEqual(
      ids.slice(1).map((event_id) => ({ event_id })),
    );
  });

  it('is deleted in batches, those over their time found by the index alone', async () => {
    await owner.query(`INSERT INTO notifier.ownerless_lead (event_id, destination, lead_ref, submitted_at, deadline_at, event, noted_at)
      SELECT gen_random_uuid(), 'ownerless', 'L-' || n, now(), now(), '', now() - CASE WHEN n <= 7 THEN 41 ELSE 1 END * interval '1 day'
      FROM generate_series(1, 5000) AS n`);
    await owner.query('ANALYZE notifier.ownerless_lead');
    const plan = await db.sql<{ 'QUERY PLAN': string }>('spec.explain', `EXPLAIN ${purgeOwnerlessSql}`, [5]);
    const scans = plan.map((row) => row['QUERY PLAN']).flatMap((line) => line.match(/[A-Z]\w* (?:Only )?Scan(?: using \w+)?/)?.[0] ?? []);
    expect(scans.sort()).toEqual(['Index Scan using ownerless_lead_noted', 'Tid Scan']);
    expect([await purgeOwnerless(db, 5), await purgeOwnerless(db, 5), await purgeOwnerless(db, 5)]).toEqual([5, 2, 0]);
    expect((await owner.query('SELECT FROM notifier.ownerless_lead')).rowCount).toBe(4_993);
  });
});
