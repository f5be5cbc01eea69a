import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import type { VaultReadItem } from '#contracts';
import {
  type Database,
  type InternalClient,
  InternalRefused,
  type InternalServer,
  internalClient,
  newEventId,
  startInternalServer,
} from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, openIntakeDatabase, silent, submission } from '../../test/fixture.js';
import { type AcceptTools, acceptLeads } from '../accept-leads.js';
import { serveConsent } from '../consent/consent-route.js';
import { serveVault } from './vault-route.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

const tokens = { 'crm-writer': 'crm-writer-token-16chars', operator: 'operator-token-16chars' };
let database: TestDatabase;
let db: Database;
let root: pg.Client;
let tools: AcceptTools;
let server: InternalServer;
let writer: InternalClient;
let operator: InternalClient;
beforeAll(async () => {
  database = await testDatabase('intake_vault');
  db = await openIntakeDatabase(database.url);
  root = new pg.Client({ connectionString: database.url });
  await root.connect();
  tools = acceptTools(db);
  server = await startInternalServer({ host: '127.0.0.1', port: 0, tokens, readiness: [], logger: silent });
  serveVault(server, { ...tools, logger: silent });
  serveConsent(server, { db, logger: silent });
  const client = (token: string) => internalClient({ baseUrl: `http://127.0.0.1:${server.port}`, token, timeoutMs: 5_000 });
  writer = client(tokens['crm-writer']);
  operator = client(tokens.operator);
});
afterAll(async () => {
  await writer?.close();
  await operator?.close();
  await server?.stop();
  await root?.end();
  await db?.close();
  await database?.drop();
});

async function accept(): Promise<{ eventId: string; leadRef: string }> {
  const { context } = tools.telemetry.startSpan('test', { kind: 'server' });
  const [answer] = await acceptLeads(tools, [{ submission: submission(), trace: context }]);
  if (answer?.kind !== 'accepted') throw new Error('not accepted');
  return answer;
}
const read = async (...leadRefs: string[]): Promise<VaultReadItem[]> =>
  (await writer.post<{ items: VaultReadItem[] }>('/internal/v1/vault:read', { items: leadRefs.map((lead_ref) => ({ lead_ref })) })).items;
const withdraw = (eventId: string) => operator.post<{ result: string }>('/internal/v1/consent:withdraw', { event_id: eventId });

describe('a vault read', () => {
  it('answers for each lead apart: one that cannot be opened keeps none of the others', async () => {
    const [good, damaged, moved, keyless] = await Promise.all([accept(), accept(), accept(), accept()]);
    await root.query(`update intake.vault set sealed = substring(sealed from 2) where lead_ref = $1`, [damaged.leadRef]);
    await root.query('update intake.vault set sealed = (select sealed from intake.vault where lead_ref = $1) where lead_ref = $2', [
      good.leadRef,
      moved.leadRef,
    ]);
    await root.query(`update intake.vault set key_id = 'lost' where lead_ref = $1`, [keyless.leadRef]);
    const items = await read(damaged.leadRef, good.leadRef, 'L-UNKNOWN', moved.leadRef, keyless.leadRef);
    expect(items.map(({ status }) => status)).toEqual([500, 200, 410, 500, 500]);
    expect(items[0]).toEqual({ lead_ref: damaged.leadRef, status: 500, revision: 1, code: 'unreadable' });
    expect(items[1]).toMatchObject({ payload: { contact: { email: 'ada@example.test' } } });
    expect(items[1]).not.toHaveProperty('consent_withdrawn');
  });

  it('is for the services that deliver: the operator is refused, and so is whoever has no token', async () => {
    const { leadRef } = await accept();
    const body = { items: [{ lead_ref: leadRef }] };
    const refused = await operator.post('/internal/v1/vault:read', body).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(InternalRefused);
    expect(refused).toMatchObject({ status: 403 });
    for (const headers of [{}, { authorization: 'Bearer another-token-16chars' }]) {
      const answer = await fetch(`http://127.0.0.1:${server.port}/internal/v1/vault:read`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
      expect(answer.status).toBe(401);
      expect(await answer.text()).not.toContain('ada@example.test');
    }
  });

  it('gives the newest revision', async () => {
    const { leadRef } = await accept();
    await root.query(
      `insert into intake.vault select lead_ref, 2, key_id, wrapped_key, 'damaged', delete_after from intake.vault where lead_ref = $1`,
      [leadRef],
    );
    expect(await read(leadRef)).toEqual([{ lead_ref: leadRef, status: 500, revision: 2, code: 'unreadable' }]);
  });
});

describe('consent withdrawn', () => {
  it('is said with the lead from then on, and of no other lead', async () => {
    const [lead, other] = [await accept(), await accept()];
    expect(await withdraw(lead.eventId)).toEqual({ event_id: lead.eventId, result: 'withdrawn' });
    const [one, two] = await read(lead.leadRef, other.leadRef);
    expect(one).toMatchObject({ status: 200, consent_withdrawn: true });
    expect(two).not.toHaveProperty('consent_withdrawn');
  });

  it('stands since the first time it was said', async () => {
    const { eventId, leadRef } = await accept();
    const since = async () =>
      (await root.query('select consent_withdrawn_at from intake.vault where lead_ref = $1', [leadRef])).rows[0].consent_withdrawn_at;
    await withdraw(eventId);
    const first = await since();
    expect((await withdraw(eventId)).result).toBe('withdrawn');
    expect(await since()).toEqual(first);
  });

  it('tells a lead whose data is gone from one that never was', async () => {
    const { eventId, leadRef } = await accept();
    await root.query('delete from intake.vault where lead_ref = $1', [leadRef]);
    expect((await withdraw(eventId)).result).toBe('gone');
    expect((await withdraw(newEventId())).result).toBe('unknown');
  });

  it('is for operators to say', async () => {
    const { eventId } = await accept();
    await expect(writer.post('/internal/v1/consent:withdraw', { event_id: eventId })).rejects.toThrow(InternalRefused);
  });
});
