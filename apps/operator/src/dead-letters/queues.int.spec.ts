import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Database } from '#runtime';
import { type TestDatabase, testDatabase, testSize } from '#testkit';
import { manyClasses, manyDestinations, storeMany } from '../../test/many-letters.js';
import { deadLetterHeaders, deadRecord, leadAccepted, openOperatorDatabase } from '../../test/rig.js';
import type { Person } from '../people/person.js';
import { purge } from '../purge.js';
import {
  assignLetters,
  assignRequest,
  changeDisposition,
  dispositionRequest,
  mostNotes,
  noteLetters,
  noteRequest,
} from './decide-letters.js';
import { groupLetters, groupsQuery } from './group-letters.js';
import { everywhere, type Reader } from './letter-filter.js';
import { listLetters, listQuery } from './list-letters.js';
import { listNotes } from './list-notes.js';
import { readLetter } from './read-letter.js';
import { deadLetterSources } from './sources.js';
import { storeLetters } from './store-letters.js';

const many = testSize() === 'long' ? 100_000 : 5_000;
jest.setTimeout(120_000 + many * 10);

let database: TestDatabase;
let db: Database;

const sql = <R>(text: string, values: unknown[] = []) => db.sql<R>(createHash('sha1').update(text).digest('hex'), text, values);
const countOf = async (where: string) =>
  Number((await sql<{ count: string }>(`SELECT count(*) FROM dead_letter WHERE ${where}`))[0]?.count);
const list = (query: object, reader: Reader = everywhere) => listLetters(db, listQuery.parse(query), reader);
const groups = (query: object = {}, reader: Reader = everywhere) => groupLetters(db, groupsQuery.parse(query), reader);
const person = (organizations: Person['organizations'] = '*'): Person => ({
  subject: 'ada',
  name: 'Ada',
  roles: ['operator'],
  permissions: ['list', 'replay_request'],
  organizations,
});
const audited = () =>
  sql<{ action: string; person: string; organization: string | null; subject: Record<string, unknown> }>(
    'SELECT action, person, organization, subject FROM audit ORDER BY audit_id DESC LIMIT 1',
  );

beforeAll(async () => {
  database = await testDatabase('queues');
  db = await openOperatorDatabase(database.url);
  await storeMany(db, many);
});
afterAll(async () => {
  await db?.close();
  await database?.drop();
});

describe('a list of dead letters', () => {
  it.each(['oldest', 'newest', 'due'])('in the order %s shows each open one once, while others come in front and behind', async (order) => {
    const before = new Set(
      (await sql<{ id: string }>("SELECT dead_letter_id AS id FROM dead_letter WHERE state = 'open'")).map(({ id }) => id),
    );
    const seen: string[] = [];
    let after: string | undefined;
    let pages = 0;
    do {
      const page = await list({ order, limit: 200, ...(after && { after }) });
      seen.push(...page.items.map(({ dead_letter_id }) => dead_letter_id));
      after = page.next;
      pages += 1;
      await storeMany(db, 10, many + 1 + Math.trunc(Math.random() * 1_000_000_000));
    } while (after !== undefined);
    expect(pages).toBeGreaterThan(20);
    expect(new Set(seen).size).toBe(seen.length);
    expect([...before].filter((id) => !seen.includes(id))).toEqual([]);
  });

  it('is in order, the oldest lead first, with age, time left and what to do', async () => {
    const { items } = await list({ limit: 200 });
    const times = items.map(({ submitted_at }) => submitted_at?.getTime() ?? 0);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    const [first] = items;
    expect(first?.age_ms).toBeGreaterThan(6 * 86_400_000);
    expect(first?.retention_ms_left).toBeGreaterThan(30 * 86_400_000);
    expect(first).toMatchObject({ state: 'open', note_count: 0, assignee: null, runbook: expect.stringContaining('docs/runbooks/') });
  });

  it.each([
    [{ class: manyClasses[3] }, `class = '${manyClasses[3]}' AND state = 'open'`],
    [{ destination: manyDestinations[2], schema_id: '7' }, `destination = '${manyDestinations[2]}' AND schema_id = 7 AND state = 'open'`],
    [{ code: 'http_503', class: 'auth' }, "code = 'http_503' AND class = 'auth' AND state = 'open'"],
    [{ no_code: 'true', class: 'auth' }, "code IS NULL AND class = 'auth' AND state = 'open'"],
    [{ no_schema_id: 'true' }, "schema_id IS NULL AND state = 'open'"],
    [{ tab: 'expired' }, "class = 'deadline_exceeded' AND state = 'open'"],
    [{ tab: 'uncertain' }, "class = 'unverified_write' AND state = 'open'"],
    [
      { tab: 'dead', destination: 'erp' },
      "class NOT IN ('deadline_exceeded', 'unverified_write') AND destination = 'erp' AND state = 'open'",
    ],
    [{ organization: 'other' }, "organization = 'other' AND state = 'open'"],
    [{ state: 'closed' }, "state = 'closed'"],
    [{ q_ref: 'L-77' }, "lead_ref = 'L-77'"],
    [{ owner: 'nobody' }, 'false'],
  ])('by %j shows what fits and nothing else', async (query, where) => {
    let found = 0;
    let after: string | undefined;
    do {
      const page = await list({ ...query, limit: 200, ...(after && { after }) });
      found += page.items.length;
      after = page.next;
    } while (after !== undefined);
    expect(found).toBe(await countOf(where));
  });

  it('holds nothing of organizations that the reader may not see', async () => {
    const { items } = await list({ limit: 200 }, { organizations: ['other'] });
    expect(new Set(items.map(({ organization }) => organization))).toEqual(new Set(['other']));
    expect((await list({ organization: 'demo' }, { organizations: ['other'] })).items).toEqual([]);
    expect((await list({}, { organizations: [] })).items).toEqual([]);
  });

  it('refuses places of other lists, unknown filters and texts without end', async () => {
    const { next } = await list({ order: 'newest', limit: 1 });
    expect(listQuery.safeParse({ order: 'newest', after: next }).success).toBe(true);
    for (const query of [
      { after: next },
      { after: 'none' },
      { tab: 'held', after: next },
      { class: 'x'.repeat(201) },
      { name: 'Ada' },
      { limit: 201 },
    ]) {
      expect(listQuery.safeParse(query).success).toBe(false);
    }
  });
});

describe('groups of dead letters', () => {
  it('count every open letter once, by class, destination, code and schema', async () => {
    const { items, left_out } = await groups({ limit: 500 });
    expect(left_out).toBe(0);
    expect(items.reduce((sum, { count }) => sum + count, 0)).toBe(await countOf("state = 'open'"));
    const lately = items.flatMap(({ trend }) => trend).reduce((sum, letters) => sum + letters, 0);
    expect(Math.abs(lately - (await countOf("state = 'open' AND dead_at > clock_now() - interval '24 hours'")))).toBeLessThan(2);
    const [biggest] = items;
    const where = `class = '${biggest?.class}' AND destination = '${biggest?.destination}' AND schema_id = ${biggest?.schema_id} AND state = 'open'
      AND code IS NOT DISTINCT FROM ${biggest?.code === null ? 'NULL' : `'${biggest?.code}'`}`;
    const [facts] = await sql<Record<string, unknown>>(`SELECT count(*)::int AS count, min(dead_at) AS first_at, max(dead_at) AS last_at,
      min(respond_by) AS respond_by, count(*) FILTER (WHERE respond_by < clock_now())::int AS overdue,
      count(*) FILTER (WHERE dead_at > clock_now() - interval '24 hours')::int AS recent FROM dead_letter WHERE ${where}`);
    const { recent, ...others } = facts ?? {};
    expect(biggest).toMatchObject(others);
    expect(biggest?.trend).toHaveLength(24);
    expect(Math.abs((biggest?.trend.reduce((sum, letters) => sum + letters, 0) ?? 0) - Number(recent))).toBeLessThan(2);
    expect(biggest?.sample_event_ids).toHaveLength(3);
    expect(biggest).toMatchObject({ owner: 'integration', runbook: expect.any(String), next_action: expect.any(String) });
    expect(items.map(({ count }) => count)).toEqual(items.map(({ count }) => count).toSorted((one, other) => other - one));
  });

  it('are those that fit the filter, the largest ones, and say how many are left out', async () => {
    const { items } = await groups({ destination: 'erp', tab: 'expired' });
    expect(new Set(items.map(({ destination, class: failure }) => `${destination} ${failure}`))).toEqual(
      new Set(['erp deadline_exceeded']),
    );
    const all = await groups({ limit: 500 });
    expect(await groups({ limit: 2 })).toMatchObject({ items: [{ key: all.items[0]?.key }, {}], left_out: all.items.length - 2 });
    const none = await groups({ destination: 'nowhere' });
    expect(none).toMatchObject({ items: [], left_out: 0 });
    expect(none.as_of.getTime()).toBeGreaterThan(Date.now() - 60_000);
    const foreign = await groups({ limit: 500 }, { organizations: ['other'] });
    expect(foreign.items.reduce((sum, { count }) => sum + count, 0)).toBe(await countOf("state = 'open' AND organization = 'other'"));
  });
});

describe('a decision', () => {
  let key: string;
  let as_of: string;
  let count: number;

  beforeEach(async () => {
    const answer = await groups({ limit: 500 });
    const group = answer.items.at(-20);
    key = group?.key ?? '';
    count = group?.count ?? 0;
    as_of = answer.as_of.toISOString();
  });

  it('about a group is about what it was when somebody looked, and stands in the audit', async () => {
    const [one] = await sql<{ id: string }>(
      "SELECT dead_letter_id AS id FROM dead_letter WHERE group_key = $1 AND state = 'open' LIMIT 1",
      [key],
    );
    await sql("UPDATE dead_letter SET received_at = clock_now() + interval '1 second' WHERE dead_letter_id = $1", [one?.id]);
    const request = dispositionRequest.parse({ group: { key, as_of }, disposition: 'discard', reason: 'the source sent them twice' });
    if (count === 1) await expect(changeDisposition(db, request, person())).rejects.toMatchObject({ problem: { status: 404 } });
    else expect(await changeDisposition(db, request, person())).toEqual({ letters: count - 1 });
    const [later] = await sql<{ disposition: string }>('SELECT disposition FROM dead_letter WHERE dead_letter_id = $1', [one?.id]);
    expect(later?.disposition).toBe('investigate');
    const all = await changeDisposition(
      db,
      dispositionRequest.parse({ group: key, disposition: 'discard', reason: 'all of them' }),
      person(),
    );
    expect(all).toEqual({ letters: count });
    expect(await audited()).toMatchObject([
      {
        action: 'dead_letter.disposition',
        person: 'ada',
        subject: { group: key, letters: count, disposition: 'discard', reason: 'all of them' },
      },
    ]);
    expect((await groups({ group: key })).items).toMatchObject([{ disposition: 'discard', count }]);
  });

  it('gives letters to somebody, and takes them away again', async () => {
    const ids = (await list({ limit: 2 })).items.map(({ dead_letter_id }) => dead_letter_id);
    expect(await assignLetters(db, assignRequest.parse({ ids, assignee: 'grace' }), person())).toEqual({ letters: 2 });
    expect((await list({ assignee: 'grace' })).items.map(({ dead_letter_id }) => dead_letter_id).toSorted()).toEqual(ids.toSorted());
    await assignLetters(db, assignRequest.parse({ ids, assignee: '' }), person());
    expect((await list({ assignee: 'grace' })).items).toEqual([]);
    expect(await audited()).toMatchObject([{ action: 'dead_letter.assign', subject: { ids, assignee: null } }]);
  });

  it('writes notes in order, no more than there is room for, and none that holds an address', async () => {
    const [letter] = (await list({ limit: 1 })).items;
    const id = letter?.dead_letter_id ?? '';
    const note = (text: string) => noteLetters(db, noteRequest.parse({ ids: [id], text }), person());
    await note('asked the vendor');
    await note('they are on it');
    expect((await listNotes(db, id, everywhere)).items).toMatchObject([
      { by: 'ada', text: 'asked the vendor' },
      { text: 'they are on it' },
    ]);
    expect((await list({ limit: 1 })).items[0]?.note_count).toBe(2);
    expect(noteRequest.safeParse({ ids: [id], text: 'ring sam@example.test' }).success).toBe(false);
    await sql('INSERT INTO letter_note (dead_letter_id, at, by, text) SELECT $1, clock_now(), $2, $3 FROM generate_series(3, $4)', [
      id,
      'ada',
      'x',
      mostNotes,
    ]);
    await expect(note('one more')).rejects.toMatchObject({ problem: { status: 409, type: expect.stringContaining('too-many-notes') } });
    await expect(sql('UPDATE letter_note SET text = $1', ['other'])).rejects.toThrow();
    await sql("UPDATE dead_letter SET state = 'closed', delete_after = clock_now() - interval '1 day' WHERE dead_letter_id = $1", [id]);
    await purge(db);
    expect(await sql('SELECT FROM letter_note WHERE dead_letter_id = $1', [id])).toEqual([]);
  });

  it('is refused whole where a letter is unknown, of another organization or closed, and changes nothing', async () => {
    const other = (await list({ organization: 'other', limit: 1 })).items[0]?.dead_letter_id ?? '';
    const closed = (await list({ state: 'closed', limit: 1 })).items[0]?.dead_letter_id ?? '';
    const own = (await list({ organization: 'demo', limit: 1 })).items[0]?.dead_letter_id ?? '';
    const assign = (target: object, by = person(['demo'])) => assignLetters(db, assignRequest.parse({ ...target, assignee: 'eve' }), by);
    await expect(assign({ ids: [own, other] })).rejects.toMatchObject({ problem: { status: 404 } });
    await expect(assign({ ids: [own, randomUUID()] })).rejects.toMatchObject({ problem: { status: 404 } });
    await expect(assign({ ids: [own, closed] }, person())).rejects.toMatchObject({ problem: { status: 409, ids: [closed] } });
    await expect(listNotes(db, other, person(['demo']))).rejects.toMatchObject({ problem: { status: 404 } });
    expect((await list({ assignee: 'eve' })).items).toEqual([]);
    for (const target of [{}, { ids: [own], group: key }, { ids: [] }])
      expect(assignRequest.safeParse({ ...target, assignee: 'eve' }).success).toBe(false);
  });
});

describe('the schema of a record', () => {
  it('is kept by its id, also where the record could not be read', async () => {
    const source = deadLetterSources(['crm']).get('lead.accepted.crm-writer.crm.dlq');
    const lead = leadAccepted();
    const unreadable = leadAccepted();
    const strange = deadRecord(unreadable, {
      value: Buffer.from([0, 0, 0, 4, 210, 9]),
      offset: 8n,
      headers: deadLetterHeaders(unreadable),
    });
    if (source === undefined) throw new Error('no source');
    await storeLetters(db, [readLetter(deadRecord(lead), source, lead), readLetter(strange, source, undefined)]);
    expect((await list({ q_ref: lead.event_id })).items).toMatchObject([{ schema_id: 1 }]);
    expect((await list({ q_ref: unreadable.event_id })).items).toMatchObject([{ schema_id: 1_234 }]);
  });
});
