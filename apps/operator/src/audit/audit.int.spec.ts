import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import pg from 'pg';
import { type Database, StatementFailed } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { openOperatorDatabase, silent } from '../../test/rig.js';
import type { Person } from '../people/person.js';
import { audit } from './audit.js';
import { auditRefusals } from './audit-refusals.js';
import { headReader, signHead } from './head.js';
import { auditQuery, listAudit } from './list-audit.js';
import { AuditSealer } from './sealer.js';
import { type AuditReport, verifyAudit } from './verify.js';

const boss: Person = { subject: 'ada', name: 'Ada', roles: ['admin'], permissions: ['list'], organizations: '*' };

async function keyPair(): Promise<{ privateKey: JWK; open: JWK }> {
  const { privateKey } = await generateKeyPair('EdDSA', { extractable: true });
  const { d, ...open } = { ...(await exportJWK(privateKey)), kid: 'one' };
  return { privateKey: { ...open, d }, open };
}

let database: TestDatabase;
let db: Database;
/** The owner of the tables, whom no trigger stops. */
let owner: pg.Client;
let dir: string;
let headFile: string;
let keys: Awaited<ReturnType<typeof keyPair>>;
let readHead: ReturnType<typeof headReader>;

beforeAll(async () => {
  database = await testDatabase('audit');
  db = await openOperatorDatabase(database.url);
  owner = new pg.Client({ connectionString: database.url, options: '-c search_path=operator -c session_replication_role=replica' });
  await owner.connect();
  keys = await keyPair();
  readHead = headReader({ keys: [keys.open] });
});
afterAll(async () => {
  await owner.end();
  await db.close();
  await database.drop();
});
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'audit-'));
  headFile = join(dir, 'audit-head.jws');
});
afterEach(async () => {
  rmSync(dir, { recursive: true });
  await owner.query('TRUNCATE audit, audit_seal');
});

const newSealer = () => new AuditSealer({ db, privateKey: keys.privateKey, readHead, headFile, logger: silent });
const exported = () => (existsSync(headFile) ? readFileSync(headFile, 'utf8') : undefined);
const verify = (head = exported()): Promise<AuditReport> => verifyAudit({ db, readHead, exported: head, headExpected: true });
const kinds = async (head?: string) =>
  (await verify(head ?? exported())).findings.map(({ kind, seq }) => (seq === undefined ? kind : `${kind} ${seq}`));
const note = (number: number, more: { organization?: string; person?: string } = {}) =>
  audit(db, { caller: 'api', person: 'ada', action: 'batch.stop', subject: { batch_id: `b-${number}`, reason: 'Ω "quoted"' }, ...more });

async function notes(count: number): Promise<void> {
  for (let number = 1; number <= count; number += 1) await note(number);
}

describe('the chain of the audit', () => {
  it('holds every row once, in the order of ids, under a head that this installation signed', async () => {
    await notes(5);
    const sealer = newSealer();
    expect(await sealer.seal()).toBe(5);
    await note(6);
    expect(await sealer.seal()).toBe(1);
    expect(await sealer.seal()).toBe(0);
    const report = await verify();
    expect(report).toMatchObject({ ok: true, checked: 6, unsealed: 0, findings: [], head: { seq: 6 }, exported: { seq: 6 } });
    expect(report.exported?.hash).toBe(report.head?.hash);
  });

  it('has no gap where a transaction was rolled back or came late, and is one chain however many processes seal', async () => {
    await notes(2);
    await db.transaction(async (tx) => {
      await audit(tx, { caller: 'api', person: 'ada', action: 'late', subject: {} });
      await note(3);
      await newSealer().seal();
      await db
        .transaction(async (other) => {
          await audit(other, { caller: 'api', person: 'ada', action: 'never', subject: {} });
          throw new Error('rolled back');
        })
        .catch(() => undefined);
    });
    const sealers = [newSealer(), newSealer(), newSealer()];
    for (let round = 0; round < 10; round += 1) {
      await note(10 + round);
      await Promise.all(sealers.map((sealer) => sealer.seal()));
    }
    await newSealer().seal();
    expect(await verify()).toMatchObject({ ok: true, checked: 14, unsealed: 0 });
  });

  it('of more rows than one page is sealed in one go and walked to its end', async () => {
    await owner.query(
      `INSERT INTO audit (at, caller, person, action, subject) SELECT now(), 'api', 'ada', 'x', jsonb_build_object('n', n) FROM generate_series(1, 2500) n`,
    );
    expect(await newSealer().seal()).toBe(2_500);
    expect(await verify()).toMatchObject({ ok: true, checked: 2_500 });
  });

  it.each([
    ['subject', `subject = jsonb_set(subject, '{batch_id}', '"b-9"')`],
    ['person', `person = 'eve'`],
    ['time', `at = at + interval '1 microsecond'`],
    ['action', `action = 'batch.pause'`],
    ['organization', `organization = 'demo'`],
  ])('shows that the %s of a row was edited', async (_what, change) => {
    await notes(4);
    await newSealer().seal();
    await owner.query(`UPDATE audit SET ${change} WHERE audit_id = (SELECT audit_id FROM audit_seal WHERE seq = 2)`);
    expect(await kinds()).toEqual(['edit 2']);
  });

  it('shows that a seal was edited', async () => {
    await notes(4);
    await newSealer().seal();
    await owner.query('UPDATE audit_seal SET hash = sha256(hash) WHERE seq = 3');
    expect(await kinds()).toEqual(['edit 3', 'edit 4']);
  });

  it('shows rows that were taken out, with their seals or without', async () => {
    await notes(6);
    await newSealer().seal();
    await owner.query('DELETE FROM audit WHERE audit_id = (SELECT audit_id FROM audit_seal WHERE seq = 2)');
    expect(await kinds()).toEqual(['gap 2']);
    await owner.query('DELETE FROM audit_seal WHERE seq IN (4, 5)');
    expect(await kinds()).toEqual(['gap 2', 'gap 4']);
  });

  it('shows that its end was cut off, also after more was appended, and keeps the head that shows it', async () => {
    await notes(6);
    await newSealer().seal();
    const before = exported();
    await owner.query('DELETE FROM audit WHERE audit_id IN (SELECT audit_id FROM audit_seal WHERE seq > 4)');
    await owner.query('DELETE FROM audit_seal WHERE seq > 4');
    expect(await kinds()).toEqual(['cut_tail 5']);
    const sealer = newSealer();
    await note(7);
    await sealer.seal();
    expect(await kinds()).toEqual(['cut_tail 6']);
    await note(8);
    await note(9);
    await sealer.seal();
    expect(await kinds()).toEqual(['rewritten 6']);
    expect(exported()).toBe(before);
  });

  it('shows that all of it was wiped', async () => {
    await notes(3);
    await newSealer().seal();
    await owner.query('TRUNCATE audit, audit_seal');
    expect(await kinds()).toEqual(['cut_tail 1']);
  });

  it('shows that it was made anew from the beginning, every hash right', async () => {
    await notes(3);
    await newSealer().seal();
    const head = exported();
    await owner.query(`UPDATE audit SET person = 'eve'`);
    await owner.query('TRUNCATE audit_seal');
    rmSync(headFile);
    await newSealer().seal();
    expect(await kinds(exported())).toEqual([]);
    expect(await kinds(head)).toEqual(['rewritten 3']);
  });

  it('believes no head that another key signed, and misses one that is not there', async () => {
    await notes(2);
    await newSealer().seal();
    const forged = await signHead({ seq: 2, hash: Buffer.alloc(32), sealedAt: new Date() }, (await keyPair()).privateKey);
    expect(await kinds(forged)).toEqual(['head']);
    writeFileSync(headFile, 'nonsense');
    expect(await kinds()).toEqual(['head']);
    rmSync(headFile);
    expect(await kinds()).toEqual(['head']);
  });

  it('shows rows that nobody seals', async () => {
    await note(1);
    expect(await verify()).toMatchObject({ ok: true, unsealed: 1 });
    await owner.query(`UPDATE audit SET at = at - interval '2 minutes'`);
    expect(await verify()).toMatchObject({ ok: false, unsealed: 1, findings: [{ kind: 'unsealed' }] });
  });
});

describe('the role of the service', () => {
  it.each([
    ['audit', 'person = person'],
    ['audit_seal', 'hash = hash'],
  ])('may append to %s, and neither change nor delete', async (table, change) => {
    await notes(1);
    await newSealer().seal();
    const statements = [
      `UPDATE ${table} SET ${change}`,
      `DELETE FROM ${table}`,
      `TRUNCATE ${table}`,
      `ALTER TABLE ${table} DISABLE TRIGGER ALL`,
    ];
    for (const statement of statements) {
      const failed: unknown = await db.sql(`spec.${statement}`, statement, []).catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(StatementFailed);
      expect(failed).toMatchObject({ code: '42501' });
    }
    expect(await verify()).toMatchObject({ ok: true, checked: 1 });
  });
});

describe('a refusal', () => {
  it('is noted with who tried what on which lead, unless it was a look', async () => {
    const onRefused = auditRefusals(db);
    const tried = { person: { ...boss, subject: 'vera' }, route: 'POST /v1/leads/:event_id/reveal', params: { event_id: 'e-1' } };
    await onRefused({ ...tried, permission: 'reveal' });
    await onRefused({ ...tried, permission: 'list' });
    const { items } = await listAudit(db, auditQuery.parse({}), boss);
    expect(items).toMatchObject([
      { caller: 'api', person: 'vera', action: 'request.refused', subject: { permission: 'reveal', route: tried.route, event_id: 'e-1' } },
    ]);
    expect(items).toHaveLength(1);
  });
});

describe('the list of entries', () => {
  const list = (query: object, person = boss) => listAudit(db, auditQuery.parse(query), person);
  const about = async (query: object, person?: Person) => (await list(query, person)).items.map(({ subject }) => subject.batch_id);

  it('shows the newest first, page by page, each with its place in the chain', async () => {
    await notes(5);
    await newSealer().seal();
    await note(6);
    const first = await list({ limit: 2 });
    expect(first.items).toMatchObject([
      { seq: null, person: 'ada', subject: { batch_id: 'b-6' } },
      { seq: 5, action: 'batch.stop' },
    ]);
    expect(await about({ limit: 200, after: first.next })).toEqual(['b-4', 'b-3', 'b-2', 'b-1']);
  });

  it.each(['9999999999999999999', '0', '-1', 'b-1'])('takes no %s for an id of an entry', async (after) => {
    expect(auditQuery.safeParse({ after }).success).toBe(false);
    expect(await about({ after: '999999999999999999' })).toEqual([]);
  });

  it('finds by action, by person and by whatever id an entry is about', async () => {
    await notes(3);
    await audit(db, { caller: 'leadctl', person: 'eve', action: 'lead.reveal', subject: { event_ids: ['e-1', 'e-2'], n: 1 } });
    expect(await list({ subject: 'e-2' })).toMatchObject({ items: [{ person: 'eve' }] });
    expect(await about({ subject: 'b-2', action: 'batch.stop', person: 'ada' })).toEqual(['b-2']);
    expect(await about({ subject: 'b-2', person: 'eve' })).toEqual([]);
    expect(await about({ subject: 'Ω "quoted"' })).toHaveLength(3);
    expect(await about({ subject: '" || $.** == "b-1' })).toEqual([]);
  });

  it('shows somebody of one organization its entries and his own, and no other', async () => {
    await note(1, { organization: 'demo' });
    await note(2, { organization: 'other' });
    await note(3);
    await note(4, { person: 'nina' });
    const nina: Person = { ...boss, subject: 'nina', organizations: ['demo'] };
    expect(await about({}, nina)).toEqual(['b-4', 'b-1']);
    expect(await about({}, { ...nina, organizations: [] })).toEqual(['b-4']);
  });
});
