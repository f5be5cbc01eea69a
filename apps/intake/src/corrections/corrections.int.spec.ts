import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import type { ActivateAnswer, ProposeAnswer } from '#contracts';
import { type Database, type InternalClient, type InternalServer, internalClient, startInternalServer } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, codec, openIntakeDatabase, silent, submission } from '../../test/fixture.js';
import { type AcceptTools, acceptLeads } from '../accept-leads.js';
import { withdrawConsent } from '../consent/withdraw-consent.js';
import { eraseLeads } from '../erasure/erase-leads.js';
import { findLeads } from '../search/find-leads.js';
import { leadCourse } from '../search/lead-course.js';
import { readVault } from '../vault/read-vault.js';
import { serveVaultStates } from '../vault/vault-states.js';
import { serveCorrections } from './correction-routes.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

const tokens = { operator: 'operator-token-16chars', 'crm-writer': 'crm-writer-token-16chars' };
let database: TestDatabase;
let db: Database;
let root: pg.Client;
let tools: AcceptTools;
let server: InternalServer;
let operator: InternalClient;
let writer: InternalClient;
beforeAll(async () => {
  database = await testDatabase('intake_corrections');
  db = await openIntakeDatabase(database.url);
  root = new pg.Client({ connectionString: database.url, options: '-c search_path=intake' });
  await root.connect();
  tools = acceptTools(db);
  server = await startInternalServer({ host: '127.0.0.1', port: 0, tokens, readiness: [], logger: silent });
  serveCorrections(server, { ...tools, db });
  serveVaultStates(server, { db });
  const client = (token: string) => internalClient({ baseUrl: `http://127.0.0.1:${server.port}`, token, timeoutMs: 10_000 });
  operator = client(tokens.operator);
  writer = client(tokens['crm-writer']);
});
afterAll(async () => {
  await Promise.all([operator?.close(), writer?.close()]);
  await server?.stop();
  await root?.end();
  await db?.close();
  await database?.drop();
});

async function accept(): Promise<{ eventId: string; leadRef: string }> {
  const { context } = tools.telemetry.startSpan('test', { kind: 'server' });
  const [answer] = await acceptLeads(tools, [{ submission: submission({ custom: { size: 'M', note: 'x' } }), trace: context }]);
  if (answer?.kind !== 'accepted') throw new Error('not accepted');
  return answer;
}
/** Until a statement waits for another's lock, or the work is over without. */
async function waitsForLock(work: Promise<unknown>): Promise<void> {
  let over = false;
  const watch = new pg.Client({ connectionString: database.url });
  await watch.connect();
  const end = () => {
    over = true;
  };
  void work.then(end, end);
  const waiting = async () =>
    (await watch.query('select 1 from pg_stat_activity where datname = current_database() and wait_event_type = $1', ['Lock'])).rows
      .length > 0;
  while (!over && !(await waiting())) await new Promise((resume) => setTimeout(resume, 10));
  await watch.end();
}
const propose = async (lead_ref: string, changes: object, correction_id: string = randomUUID()) => {
  const answer = await operator.post<ProposeAnswer>('/internal/v1/vault:propose', { correction_id, lead_ref, changes });
  return { correction_id, answer };
};
const activate = async (correction_id: string, lead_ref: string, revision = 2) =>
  (await operator.post<ActivateAnswer>('/internal/v1/vault:activate', { correction_id, lead_ref, revision })).result;
const payloadOf = async (leadRef: string) => {
  const [item] = await readVault(tools, [leadRef]);
  return item?.status === 200 ? item : undefined;
};

describe('a correction', () => {
  it('is sealed and read by nobody until it is activated; then it is the lead, and what identifies the lead stays', async () => {
    const { eventId, leadRef } = await accept();
    const before = await payloadOf(leadRef);
    const { correction_id, answer } = await propose(leadRef, { email: ' Ada.New@EXAMPLE.test', custom: { size: 'L' } });
    expect(answer).toEqual({ result: 'proposed', revision: 2, fields: ['email', 'custom'] });
    expect(await payloadOf(leadRef)).toEqual(before);
    const { rows } = await root.query('select * from pending_revision');
    expect(JSON.stringify(rows)).not.toMatch(/ada|example/i);
    expect(await activate(correction_id, leadRef)).toBe('active');
    expect(await activate(correction_id, leadRef)).toBe('active');
    const after = await payloadOf(leadRef);
    expect(after).toMatchObject({
      revision: 2,
      payload: { contact: { name: 'Ada Example', email: 'Ada.New@example.test' }, custom: { size: 'L', note: 'x' } },
    });
    expect(after?.payload).toMatchObject({ person_key: before?.payload.person_key, source_event_id: before?.payload.source_event_id });
    const found = await findLeads({ ...tools, db }, { kind: 'email', value: 'ada.new@example.test' });
    expect(found.map(({ event_id }) => event_id)).toEqual([eventId]);
  });

  it('keeps consent withdrawn, and the time after which all of it goes', async () => {
    const { eventId, leadRef } = await accept();
    await withdrawConsent(db, { eventId });
    const { correction_id } = await propose(leadRef, { name: 'Ada Other' });
    await activate(correction_id, leadRef);
    expect(await payloadOf(leadRef)).toMatchObject({ revision: 2, consent_withdrawn: true });
    const { rows } = await root.query('select count(distinct delete_after) from vault where lead_ref = $1', [leadRef]);
    expect(rows).toEqual([{ count: '1' }]);
  });

  it('that meets a withdrawal of consent keeps it, whichever is written first', async () => {
    const { eventId, leadRef } = await accept();
    const { correction_id } = await propose(leadRef, { name: 'Ada Other' });
    await root.query('begin');
    await root.query('update vault set consent_withdrawn_at = now() where lead_ref = $1', [leadRef]);
    const activation = activate(correction_id, leadRef);
    await waitsForLock(activation);
    await root.query('commit');
    expect(await activation).toBe('active');
    const { rows } = await root.query('select 1 from vault where lead_ref = $1 and consent_withdrawn_at is not null', [leadRef]);
    expect(rows).toHaveLength(2);
    await root.query('update vault set consent_withdrawn_at = null where lead_ref = $1 and revision = 2', [leadRef]);
    expect(await payloadOf(leadRef)).toMatchObject({ revision: 2, consent_withdrawn: true });
    const states = await operator.post('/internal/v1/vault:state', { items: [{ lead_ref: leadRef }, { lead_ref: 'L-UNKNOWN' }] });
    expect(states).toMatchObject({ items: [{ state: 'withdrawn' }, { state: 'gone' }] });
    expect((await leadCourse({ db, codec }, eventId))?.vault).toMatchObject({ revision: 2, consent_withdrawn_at: expect.any(String) });
  });

  it('of a lead that is erased meanwhile keeps nothing', async () => {
    const { leadRef } = await accept();
    await root.query('begin');
    await root.query('delete from vault where lead_ref = $1', [leadRef]);
    const proposal = propose(leadRef, { name: 'Ada Other' });
    await waitsForLock(proposal);
    await root.query('commit');
    expect((await proposal).answer).toEqual({ result: 'gone' });
    expect((await root.query('select 1 from pending_revision where lead_ref = $1', [leadRef])).rows).toEqual([]);
  });

  it('that is written meanwhile is destroyed by the erasure of its lead', async () => {
    const { eventId, leadRef } = await accept();
    await root.query('begin');
    await root.query('select 1 from vault where lead_ref = $1 for share', [leadRef]);
    await root.query(
      `insert into pending_revision select gen_random_uuid(), lead_ref, 3, key_id, wrapped_key, sealed, null, null, delete_after
      from vault where lead_ref = $1`,
      [leadRef],
    );
    await root.query(`insert into vault select lead_ref, 2, key_id, wrapped_key, sealed, delete_after from vault where lead_ref = $1`, [
      leadRef,
    ]);
    const erasure = eraseLeads({ ...tools, db, codec, relayWake: () => undefined }, [eventId]);
    await waitsForLock(erasure);
    await root.query('commit');
    expect((await erasure).places).toMatchObject({ vault_revisions: 0, pending_revisions: 0 });
  });

  it('that came second is stale: it would undo the first', async () => {
    const { leadRef } = await accept();
    const [first, second] = [await propose(leadRef, { name: 'Ada One' }), await propose(leadRef, { name: 'Ada Two' })];
    expect(await activate(first.correction_id, leadRef)).toBe('active');
    expect(await activate(second.correction_id, leadRef)).toBe('stale');
    expect((await payloadOf(leadRef))?.payload.contact.name).toBe('Ada One');
    await operator.post('/internal/v1/vault:withdraw', { correction_id: second.correction_id });
    expect((await root.query('select 1 from pending_revision where lead_ref = $1', [leadRef])).rows).toEqual([]);
  });

  it.each([
    [{ email: 'no address' }, 'email'],
    [{ phone: 'ring me' }, 'phone'],
    [{ message: 'a\u0000b' }, 'message'],
    [{ custom: JSON.parse('{"__proto__x":"a\\u0000"}') }, 'custom.__proto__x'],
  ])('is checked like a submission: %j', async (changes, field) => {
    const { leadRef } = await accept();
    const { answer } = await propose(leadRef, changes);
    expect(answer).toMatchObject({ result: 'invalid', errors: [{ field }] });
    expect(JSON.stringify(answer)).not.toMatch(/no address|ring me/);
  });

  it('of nothing, of a lead that is gone and by anybody else is refused', async () => {
    const { leadRef } = await accept();
    expect((await propose(leadRef, { name: 'Ada Example', phone: '(202) 555-0123' })).answer).toEqual({ result: 'unchanged', revision: 1 });
    const { correction_id } = await propose(leadRef, { name: 'Ada Other' });
    await root.query('delete from vault where lead_ref = $1', [leadRef]);
    expect((await propose(leadRef, { name: 'Ada Third' })).answer).toEqual({ result: 'gone' });
    expect(await activate(correction_id, leadRef)).toBe('gone');
    await expect(writer.post('/internal/v1/vault:activate', { correction_id, lead_ref: leadRef, revision: 2 })).rejects.toMatchObject({
      status: 403,
    });
  });
});
