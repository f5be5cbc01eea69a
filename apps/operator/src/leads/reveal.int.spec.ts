import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type TestDatabase, testDatabase } from '#testkit';
import { type LeadsRig, openLeadsRig } from '../../test/leads-rig.js';
import { revealsPerHour } from './reveal.js';

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

describe('a reveal', () => {
  const reveal = (eventId: string, who = 'operator', body: object = { reason: 'The CRM lost the number' }) =>
    rig.ask(who, `leads/${eventId}/reveal`, body);
  const fields = { name: 'Ada Example', email: 'ada@example.test', phone: '+12025550123', message: 'Call me', custom: { size: 5 } };
  beforeEach(() => {
    rig.intake.revealed = { status: 200, revision: 1, fields };
    rig.intake.onReveal = () => Promise.resolve();
  });

  it('shows the clear text for five minutes, stored nowhere on the way, after it was noted who sees it and why', async () => {
    const lead = rig.known();
    let notedBefore = 0;
    rig.intake.onReveal = async () => {
      notedBefore = (await rig.audited('lead.reveal', lead.event_id)).length;
    };
    const from = Date.now();
    const { status, body, headers } = await reveal(lead.event_id);
    expect({ status, fields: body.fields }).toEqual({ status: 200, fields });
    expect(headers.get('cache-control')).toBe('no-store');
    expect(Date.parse(String(body.until)) - from).toBeGreaterThan(290_000);
    expect(notedBefore).toBe(1);
    expect(await rig.audited('lead.reveal', lead.event_id)).toMatchObject([
      { person: 'operator-person', organization: 'demo', subject: { reason: 'The CRM lost the number', until: body.until } },
    ]);
    expect(rig.logged.join('')).not.toContain('ada@');
  });

  it('is refused without the permission, which is noted, without a reason, and for a lead of another organization', async () => {
    const lead = rig.known();
    for (const who of ['viewer', 'approver']) {
      expect(await reveal(lead.event_id, who)).toMatchObject({ status: 403, body: { detail: expect.stringContaining('reveal') } });
    }
    expect(await rig.audited('request.refused', lead.event_id)).toHaveLength(2);
    expect(await reveal(lead.event_id, 'operator', {})).toMatchObject({ status: 422 });
    for (const reason of [' ', 'told ada@example.test', 'rang +12025550123'])
      expect(await reveal(lead.event_id, 'operator', { reason })).toMatchObject({ status: 422 });
    expect(await reveal(lead.event_id, 'operator@other')).toMatchObject({ status: 404 });
    expect(rig.intake.asked.some(({ path }) => path.endsWith(':reveal'))).toBe(false);
    expect(await rig.audited('lead.reveal', lead.event_id)).toEqual([]);
  });

  it('is allowed so many times an hour and person, also when asked for all at once', async () => {
    const lead = rig.known();
    const answers = await Promise.all(Array.from({ length: revealsPerHour + 5 }, () => reveal(lead.event_id)));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array.from({ length: revealsPerHour }, () => 200), ...Array.from({ length: 5 }, () => 429)]);
    expect(await rig.audited('lead.reveal', lead.event_id)).toHaveLength(revealsPerHour);
    expect(await reveal(lead.event_id, 'admin')).toMatchObject({ status: 200 });
  });

  it('of what is not kept any more says so', async () => {
    const lead = rig.known();
    rig.intake.revealed = { status: 410, revision: 0, fields: null };
    expect(await reveal(lead.event_id)).toMatchObject({ status: 410, body: { type: expect.stringContaining('gone') } });
  });

  it('gives nothing while intake is away', async () => {
    const lead = rig.known();
    rig.intake.down = true;
    expect(await reveal(lead.event_id)).toMatchObject({ status: 503 });
  });
});
