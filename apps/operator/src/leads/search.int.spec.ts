import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { operationKey } from '#contracts';
import { type TestDatabase, testDatabase } from '#testkit';
import { type LeadsRig, openLeadsRig } from '../../test/leads-rig.js';
import { historyOf, traceId } from '../../test/rig.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

let database: TestDatabase;
let rig: LeadsRig;
beforeAll(async () => {
  database = await testDatabase('operator-leads');
  rig = await openLeadsRig(database.url);
});
afterAll(async () => {
  await rig.close();
  await database.drop();
});
beforeEach(() => rig.clear());

const search = (text: string, more: object = {}, who = 'viewer') => rig.ask(who, 'search', { text, ...more });
const kinds = (body: Record<string, unknown>) =>
  (body.items as { kind: string; event_id: string }[]).map(({ kind, event_id }) => [kind, event_id]);

describe('the search', () => {
  it('finds a lead by each id that a person may have, and says what the text was', async () => {
    const lead = rig.known();
    const history = rig.writer.add(historyOf(lead));
    const [attempt] = history.attempts;
    rig.intake.byValue.set('source_event_id web-1', [lead.event_id]);
    rig.intake.byValue.set(`lead_ref ${lead.lead_ref}`, [lead.event_id]);
    rig.intake.byValue.set('email ada@example.test', [lead.event_id]);
    rig.intake.byValue.set('phone +12025550123', [lead.event_id]);
    for (const [text, kind] of [
      [lead.event_id.toUpperCase(), 'event_id'],
      ['web-1', 'source_event_id'],
      [operationKey(lead.event_id, 'crm', 'lead'), 'operation_key'],
      [attempt?.attempt_id ?? '', 'attempt_id'],
      [traceId, 'trace_id'],
      ['C-1', 'crm_id'],
      [lead.lead_ref, 'lead_ref'],
      ['ada@example.test', 'email'],
      ['+12025550123', 'phone'],
    ] as const) {
      const { status, body } = await search(text);
      expect({ text, status, found: kinds(body), unavailable: body.unavailable }).toEqual({
        text,
        status: 200,
        found: [[kind, lead.event_id]],
        unavailable: [],
      });
    }
  });

  it('shows names and references, each lead once, and nothing for what nobody knows', async () => {
    const lead = rig.known();
    rig.writer.add(historyOf(lead));
    rig.intake.byValue.set(`trace_id ${traceId}`, [lead.event_id]);
    const { body, headers } = await search(traceId);
    expect(body.items).toEqual([
      {
        kind: 'trace_id',
        event_id: lead.event_id,
        lead_ref: lead.lead_ref,
        organization: 'demo',
        source: 'website',
        form: 'contact',
        submitted_at: expect.stringMatching(/Z$/),
        test: false,
        state: 'dead',
      },
    ]);
    expect(headers.get('cache-control')).toBe('no-store');
    expect((await search('C-999')).body).toEqual({ items: [], unavailable: [] });
  });

  it('keeps to the organizations of the person', async () => {
    const [lead, other] = [rig.known(), rig.known({ organization: 'other' })];
    rig.writer.add(historyOf(lead));
    rig.writer.add(historyOf(other));
    expect(kinds((await search('C-1', {}, 'viewer@other')).body)).toEqual([['crm_id', other.event_id]]);
    expect((await search(lead.event_id, {}, 'viewer@other')).body.items).toEqual([]);
  });

  it('answers with what the others know while a service is away, and names it', async () => {
    const lead = rig.known();
    rig.intake.byValue.set('source_event_id web-1', [lead.event_id]);
    rig.writer.down = true;
    expect((await search('web-1')).body).toMatchObject({ items: [{ event_id: lead.event_id }], unavailable: ['crm-writer'] });
    rig.intake.down = true;
    expect(await search('web-1')).toMatchObject({ status: 200, body: { items: [], unavailable: ['crm-writer', 'intake'] } });
  });

  it('sends a typed address to intake in a body, and writes it nowhere', async () => {
    const typed = ['Zenobia.Quill@example.test', '+1 (202) 555-0199'];
    rig.logged.length = 0;
    for (const text of typed) {
      await search(text);
      await search(text, { kind: text.includes('@') ? 'email' : 'phone' });
    }
    rig.intake.down = true;
    for (const text of typed) await search(text);
    expect(await search('x'.repeat(600))).toMatchObject({ status: 422 });
    expect(rig.intake.asked.map(({ body }) => body.value)).toEqual(expect.arrayContaining(typed));
    expect(rig.intake.asked.every(({ path }) => path.startsWith('/internal/v1/leads:'))).toBe(true);
    expect(rig.logged.join('')).not.toMatch(/zenobia|quill|555\D?0199/i);
    const rows = await rig.db.sql('spec.rows', 'SELECT subject::text FROM audit', []);
    expect(JSON.stringify(rows)).not.toMatch(/zenobia|quill/i);
  });

  it('refuses an empty text, an unknown kind and whoever is unknown', async () => {
    expect(await search('  ')).toMatchObject({ status: 422 });
    expect(await search('x', { kind: 'name' })).toMatchObject({ status: 422 });
    expect(await search('x', { limit: 5 })).toMatchObject({ status: 422 });
  });
});
