import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { type Database, newEventId } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, openIntakeDatabase, silent, site, source, submission } from '../../test/fixture.js';
import { type Doors, startDoors } from '../../test/start-doors.js';
import { type Acceptance, type AcceptTools, acceptLeads } from '../accept-leads.js';
import type { Submission } from '../submission/normalise.js';
import { readVault } from '../vault/read-vault.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

const hash = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`;
let database: TestDatabase;
let db: Database;
let root: pg.Client;
let tools: AcceptTools;
let doors: Doors;
beforeAll(async () => {
  database = await testDatabase('intake_consent');
  db = await openIntakeDatabase(database.url);
  root = new pg.Client({ connectionString: database.url });
  await root.connect();
  tools = acceptTools(db, {
    site: site({ sources: [source({ keyHashes: [hash('key-one')] }), source({ id: 'partner', keyHashes: [hash('key-partner')] })] }),
  });
  doors = await startDoors({ db, tools, logger: silent });
});
afterAll(async () => {
  await doors?.app.close();
  await root?.end();
  await db?.close();
  await database?.drop();
});

/** As the topic `leads` hands it in, unless told otherwise. */
async function accept(lead: Submission, repeatWithdraws = true): Promise<Acceptance> {
  const { context } = tools.telemetry.startSpan('test', { kind: 'server' });
  const [answer] = await acceptLeads(tools, [{ submission: lead, trace: context, repeatWithdraws }]);
  if (answer === undefined) throw new Error('no answer');
  return answer;
}
async function accepted(lead = submission()): Promise<{ eventId: string; leadRef: string }> {
  const answer = await accept(lead);
  if (answer.kind !== 'accepted') throw new Error(answer.kind);
  return answer;
}
const withdrawn = async (leadRef: string) => {
  const [item] = await readVault(tools, [leadRef]);
  return item?.status === 200 && item.consent_withdrawn === true;
};
async function post(eventId: string, body: unknown, key = 'key-one') {
  const response = await fetch(`${doors.url}/v1/leads/${eventId}/consent`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: response.status, json: (await response.json()) as { type?: string; errors?: { field: string }[] } };
}
const since = async (leadRef: string) =>
  (await root.query('select consent_withdrawn_at as at from intake.vault where lead_ref = $1', [leadRef])).rows[0]?.at as Date | null;

describe('POST /v1/leads/{event_id}/consent', () => {
  it('withdraws consent of the lead of this source, once and for all', async () => {
    const { eventId, leadRef } = await accepted();
    const at = new Date(Date.now() - 60_000);
    const answer = { status: 200, json: { event_id: eventId, consent: { given: false } } };
    expect(await post(eventId, { given: false, at: at.toISOString() })).toEqual(answer);
    expect(await withdrawn(leadRef)).toBe(true);
    expect(await post(eventId.toUpperCase(), { given: false })).toEqual(answer);
    expect(await since(leadRef)).toEqual(at);
  });

  it('believes no time that lies ahead', async () => {
    const { eventId, leadRef } = await accepted();
    await post(eventId, { given: false, at: '9999-01-01T00:00:00Z' });
    expect((await since(leadRef))?.getTime()).toBeLessThanOrEqual(Date.now());
  });

  it('knows no lead of another source, and none that never was', async () => {
    const { eventId, leadRef } = await accepted();
    expect((await post(eventId, { given: false }, 'key-partner')).status).toBe(404);
    expect((await post(newEventId(), { given: false })).status).toBe(404);
    expect((await post('none', { given: false })).status).toBe(404);
    expect((await post(eventId, { given: false }, 'key-none')).status).toBe(401);
    expect(await withdrawn(leadRef)).toBe(false);
  });

  it.each([
    [{ given: true }, 422, 'given'],
    [{}, 422, 'given'],
    [{ given: false, at: 'yesterday' }, 422, 'at'],
    [{ given: false, at: '0001-01-01T00:00:00Z' }, 422, 'at'],
    [{ given: false, email: 'ada@example.test' }, 422, 'email'],
    ['{"given":false,"given":false}', 400, 'given'],
  ])('refuses %j by name', async (body, status, field) => {
    const { eventId, leadRef } = await accepted();
    const answer = await post(eventId, body);
    expect(answer.status).toBe(status);
    expect(answer.json.errors?.map((error) => error.field)).toEqual([field]);
    expect(JSON.stringify(answer.json)).not.toContain('ada@');
    expect(await withdrawn(leadRef)).toBe(false);
  });

  it('refuses what is no JSON, and other methods', async () => {
    const { eventId } = await accepted();
    expect((await post(eventId, '{')).status).toBe(400);
    const response = await fetch(`${doors.url}/v1/leads/${eventId}/consent`, { headers: { authorization: 'Bearer key-one' } });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('works for a lead of which only the vault is left, and for one of which nothing is', async () => {
    const { eventId, leadRef } = await accepted();
    await root.query('delete from intake.lead where event_id = $1', [eventId]);
    expect((await post(eventId, { given: false })).status).toBe(200);
    expect(await withdrawn(leadRef)).toBe(true);
    await root.query('delete from intake.vault where lead_ref = $1', [leadRef]);
    expect((await post(eventId, { given: false })).status).toBe(200);
  });
});

describe('a repeat that differs in consent alone', () => {
  it('is a conflict at POST /v1/leads, which names the path to withdraw it, and withdraws nothing', async () => {
    const id = newEventId();
    const hand = async (consent: object) => {
      const response = await fetch(`${doors.url}/v1/leads`, {
        method: 'POST',
        headers: { authorization: 'Bearer key-one', 'content-type': 'application/json' },
        body: JSON.stringify({ source_event_id: id, form: 'contact', contact: { name: 'Ada Example' }, consent }),
      });
      return { status: response.status, json: (await response.json()) as Record<string, unknown> };
    };
    const { event_id: eventId, lead_ref: leadRef } = (await hand({ given: true })).json as { event_id: string; lead_ref: string };
    const answer = await hand({ given: false });
    expect(answer).toMatchObject({ status: 422, json: { type: 'urn:lead-delivery:problem:idempotency-conflict', event_id: eventId } });
    expect(answer.json.errors).toEqual([
      { field: 'source_event_id', problem: expect.any(String), fix: expect.stringContaining(`POST /v1/leads/${eventId}/consent`) },
    ]);
    expect(await withdrawn(leadRef)).toBe(false);
    expect((await post(eventId, { given: false })).status).toBe(200);
    expect(await withdrawn(leadRef)).toBe(true);
    expect((await hand({ given: true })).status).toBe(202);
  });

  it('is a conflict of its own kind at a door that has another way to say so', async () => {
    const lead = submission();
    const { eventId, leadRef } = await accepted(lead);
    expect(await accept({ ...lead, consent: { given: false } }, false)).toEqual({ kind: 'conflict', eventId, consentAlone: true });
    expect(await accept({ ...lead, consent: { given: false }, message: 'Other' }, false)).toEqual({ kind: 'conflict', eventId });
    expect(await withdrawn(leadRef)).toBe(false);
  });

  it('withdraws it as a record: no new lead, no conflict; the first content sent again does not bring it back', async () => {
    const lead = submission();
    const first = await accepted(lead);
    const again = { kind: 'replayed', eventId: first.eventId, leadRef: first.leadRef };
    const at = new Date(Date.now() - 5_000);
    expect(await accept({ ...lead, consent: { given: false, at } })).toEqual(again);
    expect(await since(first.leadRef)).toEqual(at);
    expect(await accept(lead)).toEqual(again);
    expect(await accept({ ...lead, consent: { given: false } })).toEqual(again);
    expect(await since(first.leadRef)).toEqual(at);
    const { rows } = await root.query('select 1 from intake.lead where event_id = $1', [first.eventId]);
    expect(rows).toHaveLength(1);
  });

  it('is a conflict where anything else differs too, and where consent is given that was not', async () => {
    const lead = submission();
    const { leadRef } = await accepted(lead);
    expect(await accept({ ...lead, consent: { given: false }, message: 'Other' })).toMatchObject({ kind: 'conflict' });
    expect(await withdrawn(leadRef)).toBe(false);
    const without = submission({ consent: { given: false } });
    const { leadRef: other } = await accepted(without);
    expect(await accept({ ...without, consent: { given: true } })).toMatchObject({ kind: 'conflict' });
    expect(await withdrawn(other)).toBe(false);
  });
});
