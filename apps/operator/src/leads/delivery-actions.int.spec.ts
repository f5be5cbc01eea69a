import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { operationKey } from '#contracts';
import { newEventId } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { type LeadsRig, openLeadsRig } from '../../test/leads-rig.js';

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

describe('an action on one delivery', () => {
  const act = (eventId: string, word: string, body: object, who = 'operator') => rig.ask(who, `leads/${eventId}/deliveries/${word}`, body);

  it('goes to the owner in the name of the person and stands in the audit with what came of it', async () => {
    const lead = rig.known();
    const key = operationKey(lead.event_id, 'crm', 'lead');
    const finding = { kind: 'found', ref: 'C-9' };
    expect(await act(lead.event_id, 'lookup', { destination: 'crm', operation_key: key })).toMatchObject({
      status: 200,
      body: { applied: true },
    });
    expect(await act(lead.event_id, 'evidence', { destination: 'crm', operation_key: key, finding, reason: 'seen there' })).toMatchObject({
      status: 200,
    });
    expect(await act(lead.event_id, 'discard', { destination: 'crm', reason: 'spam', evidence: 'ticket 7' })).toMatchObject({
      status: 200,
    });
    const name = { event_id: lead.event_id, destination: 'crm', by: 'operator-person' };
    expect(rig.writer.commands).toEqual([
      { ...name, command: 'lookup', operation_key: key },
      { ...name, command: 'evidence', operation_key: key, finding, reason: 'seen there' },
      { ...name, command: 'discard', reason: 'spam', evidence: 'ticket 7' },
    ]);
    expect(await rig.audited('delivery.discard', lead.event_id)).toMatchObject([
      { person: 'operator-person', organization: 'demo', subject: { reason: 'spam' } },
    ]);
    expect(await rig.audited('delivery.discard.answer', lead.event_id)).toMatchObject([{ subject: { applied: true, state: 'discarded' } }]);
    expect(rig.notifier.commands).toEqual([]);
  });

  it('that does not fit is refused with the reason', async () => {
    const lead = rig.known();
    const answer = jest.spyOn(rig.writer, 'command');
    const lookup = { destination: 'crm', operation_key: operationKey(lead.event_id, 'crm', 'lead') };
    answer.mockResolvedValueOnce({ applied: false, reason: 'not_in_this_state', state: 'dead' });
    expect(await act(lead.event_id, 'lookup', lookup)).toMatchObject({ status: 409, body: { state: 'dead', detail: expect.any(String) } });
    answer.mockResolvedValueOnce({ applied: false, reason: 'unknown_delivery' });
    expect(await act(lead.event_id, 'lookup', lookup)).toMatchObject({ status: 404 });
  });

  it('that comes too early is refused with when it counts', async () => {
    const lead = rig.known();
    const absence_counts_from = '2026-11-30T10:00:05.000Z';
    const answer = { applied: false, reason: 'too_early', state: 'uncertain', absence_counts_from, wait_ms: 2_100 } as const;
    jest.spyOn(rig.writer, 'command').mockResolvedValueOnce(answer);
    const operation_key = operationKey(lead.event_id, 'crm', 'lead');
    const body = { destination: 'crm', operation_key, finding: { kind: 'absent' }, reason: 'not seen' };
    const refused = await act(lead.event_id, 'evidence', body);
    expect(refused).toMatchObject({ status: 409, body: { state: 'uncertain', absence_counts_from } });
    expect(refused.body.detail).toContain(`after ${absence_counts_from}, in 3 s`);
  });

  it('needs the permission, the lead and a reason', async () => {
    const lead = rig.known();
    const discard = { destination: 'crm', reason: 'spam' };
    for (const who of ['viewer', 'approver']) expect(await act(lead.event_id, 'discard', discard, who)).toMatchObject({ status: 403 });
    expect(await act(lead.event_id, 'discard', discard, 'operator@other')).toMatchObject({ status: 404 });
    expect(await act(newEventId(), 'discard', discard)).toMatchObject({ status: 404 });
    expect(await act(lead.event_id, 'discard', { destination: 'crm' })).toMatchObject({ status: 422 });
    expect(await act(lead.event_id, 'discard', { ...discard, service: 'intake' })).toMatchObject({ status: 422 });
    expect(rig.writer.commands).toEqual([]);
  });

  it('takes no address and no number of a person in any of its texts, and nothing of it reaches the audit', async () => {
    const lead = rig.known();
    const operation_key = operationKey(lead.event_id, 'crm', 'lead');
    const evidence = { destination: 'crm', operation_key, finding: { kind: 'absent' }, reason: 'looked' };
    for (const said of ['ada@example.test', '+12025550123', 'x'.repeat(700)]) {
      const bodies: [string, object][] = [
        ['discard', { destination: 'crm', reason: said }],
        ['discard', { destination: 'crm', reason: 'spam', evidence: said }],
        ['discard', { destination: said, reason: 'spam' }],
        ['evidence', { ...evidence, reason: said }],
        ['evidence', { ...evidence, finding: { kind: 'found', ref: said } }],
        ['lookup', { destination: 'crm', operation_key: said }],
      ];
      for (const [word, body] of bodies) expect(await act(lead.event_id, word, body)).toMatchObject({ status: 422 });
    }
    expect(rig.writer.commands).toEqual([]);
    for (const word of ['discard', 'evidence', 'lookup']) expect(await rig.audited(`delivery.${word}`, lead.event_id)).toEqual([]);
  });
});
