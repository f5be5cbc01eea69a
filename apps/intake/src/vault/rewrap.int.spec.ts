import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { type Database, type KeyRing, seal, unseal } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, keyRing, openIntakeDatabase, site, submission } from '../../test/fixture.js';
import { acceptLeads } from '../accept-leads.js';
import { activateRevision } from '../corrections/activate-revision.js';
import { proposeRevision } from '../corrections/propose-revision.js';
import { readVault } from './read-vault.js';
import { type RewrapPage, rewrapPage, rewrapRows, type SealedTable } from './rewrap-page.js';
import { rejectedAad } from './vault-aad.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

const [oldKey, newKey, lostKey] = [randomBytes(32), randomBytes(32), randomBytes(32)];
const oldRing = keyRing('k1', { k1: oldKey });
const bothRing = keyRing('k2', { k1: oldKey, k2: newKey });
const newRing = keyRing('k2', { k2: newKey });

let database: TestDatabase;
let db: Database;
let root: pg.Client;
beforeAll(async () => {
  database = await testDatabase('intake_rewrap');
  db = await openIntakeDatabase(database.url);
  root = new pg.Client({ connectionString: database.url });
  await root.connect();
});
afterAll(async () => {
  await root?.end();
  await db?.close();
  await database?.drop();
});

async function accept(ring: KeyRing, count: number): Promise<string[]> {
  const tools = acceptTools(db, { ring });
  const { context } = tools.telemetry.startSpan('test', { kind: 'server' });
  const items = Array.from({ length: count }, () => ({ submission: submission(), trace: context }));
  return (await acceptLeads(tools, items)).map((answer) => ('leadRef' in answer ? answer.leadRef : ''));
}

async function refuse(ring: KeyRing, text: string): Promise<string> {
  const id = randomUUID();
  const { keyId, wrappedKey, sealed } = seal(ring, Buffer.from(text), rejectedAad(id));
  await root.query(
    `insert into intake.rejected (rejected_id, class, code, errors, topic, partition, record_offset, record_at, rejected_at, key_id, wrapped_key,
       sealed, delete_after)
     values ($1, 'invalid', 'x', '[]', 'leads', 0, (select count(*) from intake.rejected), now(), now(), $2, $3, $4, now() + interval '1 day')`,
    [id, keyId, wrappedKey, sealed],
  );
  return id;
}

async function pagesOf(table: SealedTable, from: string | null = null): Promise<RewrapPage[]> {
  const pages = [await rewrapPage({ db, ring: bothRing }, table, from)];
  for (let next = pages[0]?.next ?? null; next !== null; next = pages.at(-1)?.next ?? null) {
    pages.push(await rewrapPage({ db, ring: bothRing }, table, next));
  }
  return pages;
}
const sum = (pages: RewrapPage[], field: 'looked' | 'rewrapped') => pages.reduce((total, page) => total + page[field], 0);
const statuses = async (ring: KeyRing, refs: string[]) => new Set((await readVault({ db, ring }, refs)).map(({ status }) => status));

it('moves every lead and every refused record onto the current key, page by page; the old key is not needed any more', async () => {
  const refs = [...(await accept(oldRing, rewrapRows + 50)), ...(await accept(bothRing, 3))];
  const refused = await refuse(oldRing, 'a record');
  expect(await statuses(newRing, refs.slice(0, 1))).toEqual(new Set([500]));

  const first = await rewrapPage({ db, ring: bothRing }, 'vault', null);
  expect(first).toMatchObject({ key: 'k2', looked: rewrapRows, unreadable: {} });
  expect(first.next).not.toBeNull();
  // Broken off here and begun again: what was done is passed over.
  const again = await pagesOf('vault');
  expect(sum(again, 'looked')).toBe(rewrapRows + 53);
  expect(first.rewrapped + sum(again, 'rewrapped')).toBe(rewrapRows + 50);
  expect(await statuses(newRing, refs)).toEqual(new Set([200]));

  expect(sum(await pagesOf('rejected'), 'rewrapped')).toBe(1);
  const { rows } = await root.query('select key_id, wrapped_key, sealed from intake.rejected where rejected_id = $1', [refused]);
  const row = { keyId: rows[0].key_id, wrappedKey: rows[0].wrapped_key, sealed: rows[0].sealed };
  expect(unseal(newRing, row, rejectedAad(refused)).toString()).toBe('a record');
});

it('moves a corrected revision that waits for approval, which then opens under the new key alone', async () => {
  const [leadRef = ''] = await accept(bothRing, 1);
  const correction = randomUUID();
  const before = { db, ring: keyRing('k1', { k1: oldKey, k2: newKey }), hmacs: acceptTools(db).hmacs, site: site() };
  const proposed = await proposeRevision(before, { correction_id: correction, lead_ref: leadRef, changes: { name: 'Ada Corrected' } });
  expect(proposed).toMatchObject({ result: 'proposed', revision: 2 });
  expect(sum(await pagesOf('pending_revision'), 'rewrapped')).toBe(1);
  await activateRevision(db, { correction_id: correction, lead_ref: leadRef, revision: 2 });
  const [item] = await readVault({ db, ring: newRing }, [leadRef]);
  expect(item).toMatchObject({ status: 200, revision: 2, payload: { contact: { name: 'Ada Corrected' } } });
});

it('leaves a row alone whose key the ring lacks, says under which key it is, and goes on', async () => {
  const [lost] = await accept(keyRing('k0', { k0: lostKey }), 1);
  const [fine] = await accept(oldRing, 1);
  const pages = await pagesOf('vault');
  expect(pages.map(({ unreadable }) => unreadable).filter(({ k0 }) => k0 !== undefined)).toEqual([{ k0: 1 }]);
  expect(sum(pages, 'rewrapped')).toBe(1);
  expect(await statuses(newRing, [fine ?? ''])).toEqual(new Set([200]));
  expect(await statuses(keyRing('k0', { k0: lostKey }), [lost ?? ''])).toEqual(new Set([200]));
});
