import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Database, InternalUnavailable } from '#runtime';
import { type TestDatabase, testDatabase, testSize } from '#testkit';
import { storeMany } from '../../test/many-letters.js';
import { personOf } from '../../test/replay-rig.js';
import { historyOf, leadAccepted, openOperatorDatabase, PretendOwner, silent } from '../../test/rig.js';
import { auditRefusals } from '../audit/audit-refusals.js';
import { createApp } from '../http/create-app.js';
import { permissionsOf } from '../people/permissions.js';
import type { Person } from '../people/person.js';
import { dismissLetters, dismissManyRequest } from './dismiss-letters.js';
import { groupLetters, groupsQuery } from './group-letters.js';
import { lettersArea } from './letters.controller.js';

const many = testSize() === 'long' ? 100_000 : 5_000;
jest.setTimeout(120_000 + many * 5);

const page = 5_000;
const part = 500;
const site = { destinations: { crm: {} }, channels: {} } as never;

let database: TestDatabase;
let db: Database;
let owner: PretendOwner;

const sql = <R>(text: string, values: unknown[] = []) => db.sql<R>(createHash('sha1').update(text).digest('hex'), text, values);
const openCount = async () =>
  (await sql<{ count: number }>("SELECT count(*)::int AS count FROM dead_letter WHERE state = 'open'"))[0]?.count;
const audited = async () =>
  (
    await sql<{ person: string; organization: string | null; subject: Record<string, unknown> }>(
      "SELECT person, organization, subject FROM audit WHERE action = 'dead_letter.dismiss' ORDER BY audit_id",
    )
  ).slice(auditedBefore);
let auditedBefore = 0;

/** So many letters of one group, open, all of the organization `demo`; of the service nothing or a delivery stands behind them. */
async function oneGroup(count: number, service: 'intake' | 'crm-writer'): Promise<{ key: string; as_of: string; count: number }> {
  await storeMany(db, count);
  await sql(
    `UPDATE dead_letter SET state = 'open', organization = 'demo', service = $1, class = $2, destination = $3, code = NULL, schema_id = NULL`,
    service === 'intake' ? [service, 'routing', 'unrouted'] : [service, 'rejected', 'crm'],
  );
  return shown();
}

/** The one group, as a person who may see it has it on the screen. */
async function shown(person = personOf('ada')): Promise<{ key: string; as_of: string; count: number }> {
  const { items, as_of } = await groupLetters(db, groupsQuery.parse({}), person);
  return { key: items[0]?.key ?? randomUUID(), as_of: as_of.toISOString(), count: items[0]?.count ?? 0 };
}

function dismiss({ key, as_of, count }: Awaited<ReturnType<typeof shown>>, more: object = {}, person = personOf('ada')) {
  const body = { group: { key, as_of }, expected: count, reason: 'handed over to sales', ...more };
  return dismissLetters({ db, site, owners: new Map([['crm-writer', owner]]) }, dismissManyRequest.parse(body), person);
}

const left = { delivery_decides: 0, in_batch: 0, closed_before: 0 };

beforeAll(async () => {
  database = await testDatabase('dismiss');
  db = await openOperatorDatabase(database.url);
});
afterAll(async () => {
  await db?.close();
  await database?.drop();
});
beforeEach(async () => {
  owner = new PretendOwner();
  await sql('DELETE FROM replay_item');
  await sql('DELETE FROM dead_letter');
  auditedBefore = 0;
  auditedBefore = (await audited()).length;
});

describe('dismissing a group', () => {
  it('closes all of it a page at a time, in small transactions that stand in the audit, and a second time nothing', async () => {
    const rest = 20;
    const group = await oneGroup(many + rest, 'intake');
    expect(group.count).toBe(many + rest);
    let dismissed = 0;
    let after: string | undefined;
    let pages = 0;
    do {
      const answer = await dismiss(group, { after });
      expect(answer).toMatchObject({ left, dismissed: Math.min(page, group.count - dismissed) });
      dismissed += answer.dismissed;
      after = answer.next;
      pages += 1;
    } while (after !== undefined);
    expect({ dismissed, pages }).toEqual({ dismissed: many + rest, pages: many / page + 1 });
    expect(await openCount()).toBe(0);
    const entries = await audited();
    expect(entries).toHaveLength(many / part + 1);
    expect(entries.reduce((sum, { subject }) => sum + Number(subject.dismissed), 0)).toBe(many + rest);
    const { key, as_of } = group;
    const about = { group: { key, as_of }, expected: many + rest, letters: part, dismissed: part, left, reason: 'handed over to sales' };
    expect(entries[0]).toMatchObject({ person: 'ada', organization: 'demo', subject: about });
    expect(await dismiss(group)).toEqual({ dismissed: 0, left });
    expect(await sql('SELECT DISTINCT closed_as FROM dead_letter')).toEqual([{ closed_as: 'dismissed' }]);
  });

  it('is refused, changing nothing, where more letters are open in it than were seen', async () => {
    const { key, count } = await oneGroup(30, 'intake');
    const { as_of } = await shown();
    const less = { key, as_of, count: count - 1 };
    await expect(dismiss(less)).rejects.toMatchObject({ problem: { status: 409, type: expect.stringContaining('group-changed'), count } });
    expect(await openCount()).toBe(30);
    expect(await audited()).toEqual([]);
    expect(dismissManyRequest.safeParse({ group: { key }, reason: 'handed over' }).success).toBe(false);
    // What came after it was shown is not meant, and is not counted either.
    await sql(`UPDATE dead_letter SET received_at = clock_now() + interval '1 second'
      WHERE dead_letter_id IN (SELECT dead_letter_id FROM dead_letter LIMIT 1)`);
    expect(await dismiss(less)).toEqual({ dismissed: 29, left });
    expect(await openCount()).toBe(1);
  });

  it('leaves and counts what an approved batch has and what its delivery decides about', async () => {
    const group = await oneGroup(6, 'crm-writer');
    const letters = await sql<{ dead_letter_id: string; event_id: string }>(
      'SELECT dead_letter_id, event_id FROM dead_letter ORDER BY dead_letter_id',
    );
    const [inBatch, listed, dead, delivered] = letters;
    for (const one of [inBatch, dead, delivered]) {
      const lead = leadAccepted({ event_id: one?.event_id ?? '' });
      owner.add(historyOf(lead, { state: one === delivered ? 'delivered' : 'dead' }));
    }
    for (const [one, state] of [
      [inBatch, 'open'],
      [listed, 'listed'],
    ] as const) {
      await sql(
        `INSERT INTO replay_item (batch_id, item_id, dead_letter_id, event_id, destination, service, state, checked_at)
         VALUES (gen_random_uuid(), gen_random_uuid(), $1, $2, 'crm', 'crm-writer', $3, now())`,
        [one?.dead_letter_id, one?.event_id, state],
      );
    }
    expect(await dismiss(group)).toEqual({ dismissed: 3, left: { delivery_decides: 2, in_batch: 1, closed_before: 0 } });
    const open = await sql<{ id: string }>("SELECT dead_letter_id AS id FROM dead_letter WHERE state = 'open' ORDER BY dead_letter_id");
    expect(open.map(({ id }) => id)).toEqual([inBatch, dead, delivered].map((one) => one?.dead_letter_id));
    expect(await sql("SELECT DISTINCT closed_as FROM dead_letter WHERE state = 'closed'")).toEqual([{ closed_as: 'row_gone' }]);
    expect(await dismiss(group)).toEqual({ dismissed: 0, left: { delivery_decides: 2, in_batch: 1, closed_before: 0 } });
  });

  it('that fails half-way keeps what was done, and is gone on with', async () => {
    const group = await oneGroup(part + 10, 'crm-writer');
    const states = owner.states.bind(owner);
    owner.states = async (names) => {
      if (names.length < part) throw new InternalUnavailable('down');
      return states(names);
    };
    await expect(dismiss(group)).rejects.toBeInstanceOf(InternalUnavailable);
    expect(await openCount()).toBe(10);
    expect(await audited()).toMatchObject([{ subject: { dismissed: part } }]);
    owner.states = states;
    expect(await dismiss(group)).toEqual({ dismissed: 10, left });
  });

  it('by two people at once closes each letter once', async () => {
    const group = await oneGroup(2 * part, 'intake');
    const answers = await Promise.all(['ada', 'grace'].map((subject) => dismiss(group, {}, personOf(subject))));
    expect(answers.reduce((sum, { dismissed }) => sum + dismissed, 0)).toBe(2 * part);
    expect(await openCount()).toBe(0);
  });

  it('is about the letters of organizations that the person may see', async () => {
    await oneGroup(20, 'intake');
    await sql("UPDATE dead_letter SET organization = 'other' WHERE lead_ref IN ('L-1', 'L-2', 'L-3')");
    const others = personOf('eve', { organizations: ['other'] });
    const group = await shown(others);
    expect(group.count).toBe(3);
    expect(await dismiss(group, {}, personOf('eve', { organizations: ['none'] }))).toEqual({ dismissed: 0, left });
    expect(await dismiss(group, {}, others)).toEqual({ dismissed: 3, left });
    expect(await openCount()).toBe(17);
    expect((await audited()).at(-1)).toMatchObject({ person: 'eve', organization: 'other' });
  });
});

describe('dismissing letters by id', () => {
  it('needs no count, and is refused whole where one of them is not there for the person', async () => {
    await oneGroup(4, 'intake');
    await sql("UPDATE dead_letter SET organization = 'other' WHERE lead_ref = 'L-1'");
    const ids = (await sql<{ id: string }>('SELECT dead_letter_id AS id FROM dead_letter ORDER BY 1')).map(({ id }) => id);
    const tools = { db, site, owners: new Map() };
    const ask = (named: string[], person: Person) =>
      dismissLetters(tools, dismissManyRequest.parse({ ids: named, reason: 'handed over' }), person);
    await expect(ask(ids, personOf('eve', { organizations: ['demo'] }))).rejects.toMatchObject({ problem: { status: 404 } });
    await expect(ask([...ids, randomUUID()], personOf('ada'))).rejects.toMatchObject({ problem: { status: 404 } });
    expect(await openCount()).toBe(4);
    expect(await ask(ids.slice(0, 2), personOf('ada'))).toEqual({ dismissed: 2, left });
    expect(await ask(ids, personOf('ada'))).toEqual({ dismissed: 2, left: { ...left, closed_before: 2 } });
    expect((await audited()).at(-1)).toMatchObject({ subject: { ids, dismissed: 2 }, organization: null });
  });
});

describe('who may dismiss a group', () => {
  it.each([
    ['viewer', 403, 3],
    ['operator', 200, 0],
    ['approver', 200, 0],
  ] as const)('%s: %i', async (role, status, open) => {
    const group = await oneGroup(3, 'intake');
    const area = await lettersArea({ db, site, owners: new Map(), clients: new Map() } as never);
    const person = personOf('ada', { roles: [role], permissions: permissionsOf([role]) });
    const app = await createApp(
      { inbox: {} as never, areas: [area] },
      { identify: async () => person, onRefused: auditRefusals(db), logger: silent },
    );
    await app.listen({ host: '127.0.0.1', port: 0 });
    try {
      const answer = await app.inject({
        method: 'POST',
        url: '/v1/dead-letters/dismiss',
        headers: { authorization: 'Bearer any' },
        payload: { group: { key: group.key, as_of: group.as_of }, expected: group.count, reason: 'handed over' },
      });
      expect(answer.statusCode).toBe(status);
      expect(await openCount()).toBe(open);
    } finally {
      await app.close();
    }
  });
});
