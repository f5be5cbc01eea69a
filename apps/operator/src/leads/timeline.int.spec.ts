import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type LeadAccepted, notificationName, operationKey } from '#contracts';
import { newEventId } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { courseOf, type LeadsRig, openLeadsRig } from '../../test/leads-rig.js';
import { historyOf, traceId } from '../../test/rig.js';
import { storeLetters } from '../dead-letters/store-letters.js';

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

describe('the timeline', () => {
  const timeline = (eventId: string, who = 'viewer') => rig.ask(who, `leads/${eventId}`);
  const minutes = (lead: LeadAccepted, n: number) => new Date(lead.submitted_at.getTime() + n * 60_000);

  async function failedThenReplayed(): Promise<LeadAccepted> {
    const submitted = new Date(Date.now() - 3_600_000);
    const lead = rig.known({ submitted_at: submitted, accepted_at: new Date(submitted.getTime() + 100) });
    const dead = historyOf(lead);
    const refused = dead.attempts.find(({ status }) => status === 503);
    if (refused !== undefined) refused.class = 'attempts_exhausted';
    await storeLetters(rig.db, [
      {
        identity: `delivery:${lead.event_id}`,
        service: 'crm-writer',
        eventId: lead.event_id,
        destination: 'crm',
        leadRef: lead.lead_ref,
        organization: 'demo',
        test: false,
        class: 'attempts_exhausted',
        code: 'http_503',
        attempts: 4,
        deadAt: minutes(lead, 10),
        operations: dead.operations,
        history: dead.attempts,
        foundBy: 'topic',
        at: { topic: 'lead.accepted.crm-writer.crm.dlq', partition: 0, offset: 5n },
      },
    ]);
    const [batch, item] = [newEventId(), newEventId()];
    await rig.db.sql(
      'spec.batch',
      `INSERT INTO replay_batch (batch_id, state, approver, approved_by, author, reason, selection, maximum, approved_at, not_after, deadline_at)
       VALUES ($1, 'finished', 'bob', 'api', 'ada', 'CRM is back', '{}', 50, $2, $2, $2)`,
      [batch, minutes(lead, 20)],
    );
    await rig.db.sql(
      'spec.item',
      `INSERT INTO replay_item (batch_id, item_id, dead_letter_id, event_id, destination, service, state, closed_at, checked_at)
       VALUES ($1, $2, $2, $3, 'crm', 'crm-writer', 'succeeded', $4, $4)`,
      [batch, item, lead.event_id, minutes(lead, 22)],
    );
    const again = {
      ...(dead.attempts[1] as (typeof dead.attempts)[number]),
      attempt_id: newEventId(),
      number: 5,
      outcome: 'succeeded',
      code: undefined,
      status: 201,
      ref: 'C-7',
      started_at: minutes(lead, 21).toISOString(),
    };
    rig.writer.add({
      ...dead,
      state: 'delivered',
      class: undefined,
      code: undefined,
      claimed_at: minutes(lead, 0.1).toISOString(),
      updated_at: minutes(lead, 21.1).toISOString(),
      origin: { topic: 'lead.accepted', partition: 3, offset: '77' },
      operations: dead.operations.map((one) => ({ ...one, state: 'succeeded', ref: one.ref ?? 'C-7' })),
      attempts: [...dead.attempts, again],
    });
    const message = notificationName({ scope: 'lead', channel: 'telegram', recipientKey: 'ab', template: 'new-lead' });
    const sent = operationKey(lead.event_id, message, 'new-lead');
    rig.notifier.add({
      ...dead,
      destination: message,
      state: 'delivered',
      class: undefined,
      code: undefined,
      claimed_at: minutes(lead, 21.2).toISOString(),
      updated_at: minutes(lead, 21.3).toISOString(),
      operations: [{ operation_key: sent, kind: 'new-lead', state: 'succeeded', ref: '99', attempts: 1 }],
      attempts: [
        {
          operation_key: sent,
          attempt_id: newEventId(),
          number: 1,
          started_at: minutes(lead, 21.2).toISOString(),
          outcome: 'succeeded',
          late: false,
        },
      ],
    });
    return lead;
  }

  it('tells the whole way of a lead that failed, was replayed and arrived, oldest first', async () => {
    const lead = await failedThenReplayed();
    const { status, body, headers } = await timeline(lead.event_id);
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    const events = body.events as { at: string; kind: string; title: string; service: string }[];
    expect(events.map(({ kind, service }) => `${kind} ${service}`)).toEqual([
      'submitted intake',
      'accepted intake',
      'announced intake',
      'attempt crm-writer',
      'attempt crm-writer',
      'attempt crm-writer',
      'received crm-writer',
      'dead_letter operator',
      'replay operator',
      'attempt crm-writer',
      'ended crm-writer',
      'received notifier',
      'attempt notifier',
      'ended notifier',
      'replay operator',
    ]);
    expect(events.map(({ at }) => at)).toEqual(events.map(({ at }) => at).sort());
    expect(events.find(({ kind }) => kind === 'received')).toMatchObject({ topic: 'lead.accepted', partition: 3, offset: '77' });
    expect(events.find(({ kind }) => kind === 'dead_letter')).toMatchObject({ class: 'attempts_exhausted', code: 'http_503', offset: '5' });
    expect(body.events).toContainEqual(
      expect.objectContaining({
        title: 'Call 3 for lead: it failed for now',
        operation_key: operationKey(lead.event_id, 'crm', 'lead'),
        number: 3,
        outcome: 'transient',
        class: 'attempts_exhausted',
        code: 'http_503',
        status: 503,
        provider_request_id: 'req-3',
        duration_ms: 12,
        trace_id: traceId,
      }),
    );
    expect(body.summary).toEqual({
      what_happened: 'crm has it as C-7.',
      next: 'Nothing more happens here.',
      who: 'Sales duty follows up.',
      seen_by_customer: 'The form took their words.',
      seen_by_sales: 'It stands in crm as C-7. They were told by a message (telegram).',
    });
    expect(body).toMatchObject({
      owner: 'Sales duty',
      masked: { name: 'A…', email: 'a…@example.test', phone: '…23' },
      deliveries: [{ service: 'crm-writer', destination: 'crm', state: 'delivered' }, { service: 'notifier' }],
      dead_letters: [{ class: 'attempts_exhausted', owner: 'integration', runbook: 'docs/runbooks/attempts-exhausted.md' }],
      notifications: [{ channel: 'telegram', template: 'new-lead', state: 'succeeded' }],
      replays: [{ approver: 'bob', author: 'ada', state: 'succeeded' }],
      unavailable: [],
    });
  });

  it('tells what was found to differ, by which run, who had it repaired and with what end', async () => {
    const lead = rig.known();
    const { first_run_id, discrepancy_id } = rig.reconciler.found({
      event_id: lead.event_id,
      state: 'repaired',
      by: 'ada',
      approver: 'bob',
      result: 'succeeded lead=L-9',
    });
    await rig.db.sql(
      'spec.repair_batch',
      `INSERT INTO replay_batch (batch_id, state, approver, approved_by, author, reason, selection, maximum, approved_at)
       VALUES ($1, 'finished', 'bob', 'api', 'ada', 'lost at the CRM', '{}', 50, clock_now())`,
      [first_run_id],
    );
    await rig.db.sql(
      'spec.repair_item',
      `INSERT INTO replay_item (batch_id, item_id, event_id, destination, service, state, closed_at, checked_at, discrepancy_ids)
       VALUES ($1, gen_random_uuid(), $2, 'crm', 'crm-writer', 'succeeded', clock_now() + interval '1 second', clock_now(), ARRAY[$3::uuid])`,
      [first_run_id, lead.event_id, discrepancy_id],
    );
    const { body } = await timeline(lead.event_id);
    const events = (body.events as { kind: string }[]).filter(({ kind }) => kind === 'reconciliation');
    expect(events).toMatchObject([
      {
        title: 'Compared with crm: lead is not there, though it was confirmed',
        detail: expect.stringMatching(/^run .*; now repaired by bob: succeeded lead=L-9$/),
      },
      { title: 'Repair approved', by: 'bob', detail: expect.stringContaining('lost at the CRM') },
      { title: 'Repair ended: succeeded' },
    ]);
    expect(body.replays).toMatchObject([{ repairs: true, state: 'succeeded' }]);
    rig.reconciler.down = true;
    expect((await timeline(lead.event_id)).body).toMatchObject({ unavailable: ['reconciler'] });
  });

  it('shows a service that is away as unavailable, with what others have kept of its calls', async () => {
    const lead = await failedThenReplayed();
    rig.writer.down = true;
    rig.notifier.down = true;
    const { status, body } = await timeline(lead.event_id);
    expect(status).toBe(200);
    expect(body.unavailable).toEqual(['crm-writer', 'notifier']);
    expect((body.events as { kind: string }[]).filter(({ kind }) => kind === 'attempt')).toHaveLength(3);
    expect((body.summary as { seen_by_sales: string }).seen_by_sales).toContain('cannot be found out');
  });

  it('tells what is known from the dead letters alone while intake is away, and 503 where only intake could know', async () => {
    const lead = await failedThenReplayed();
    rig.intake.down = true;
    expect(await timeline(lead.event_id)).toMatchObject({
      status: 200,
      body: { organization: 'demo', masked: null, unavailable: ['intake'] },
    });
    expect(await timeline(newEventId())).toMatchObject({ status: 503 });
  });

  it('says why and when an open delivery goes on', async () => {
    const lead = rig.known();
    rig.writer.add(historyOf(lead, { state: 'waiting', class: undefined, code: 'http_503', next_attempt_at: '2030-01-01T00:00:00.000Z' }));
    expect((await timeline(lead.event_id)).body).toMatchObject({
      deliveries: [{ state: 'waiting', next_attempt_at: '2030-01-01T00:00:00.000Z', why: 'back-off after http_503' }],
      summary: { next: 'It is tried again by itself.', when: '2030-01-01T00:00:00.000Z' },
    });
  });

  it('shows a delivery that nobody has claimed by what intake knows', async () => {
    const lead = rig.known();
    const announced_at = lead.accepted_at.toISOString();
    const unclaimed = {
      destination: 'crm',
      state: 'accepted' as const,
      generation: 1,
      operations: [],
      as_of: announced_at,
      announcements: 1,
      announced_at,
    };
    rig.intake.courses.set(lead.event_id, courseOf(lead, { announcement: 'in_outbox', deliveries: [unclaimed] }));
    expect((await timeline(lead.event_id)).body).toMatchObject({
      deliveries: [{ destination: 'crm', state: 'accepted', why: expect.stringContaining('not claimed yet') }],
      events: [{}, {}, { kind: 'announced', title: 'Waits in the outbox to be announced' }],
    });
  });

  it('does not exist for a person of another organization, nor for an id that is unknown', async () => {
    const lead = rig.known();
    expect(await timeline(lead.event_id, 'viewer@other')).toMatchObject({ status: 404 });
    expect(await timeline(newEventId())).toMatchObject({ status: 404 });
    expect(await timeline('no-id')).toMatchObject({ status: 422 });
  });
});
