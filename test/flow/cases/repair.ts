import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Discrepancy } from '#delivery';
import { testSize } from '#testkit';
import { person } from '../../privacy/planted.js';
import type { CommonStack } from '../../support/common-stack.js';
import { Comparisons } from '../../support/comparisons.js';
import type { CrmSite } from '../../support/crm-site.js';
import { Desk } from '../../support/desk.js';
import { eventually } from '../../support/eventually.js';
import { OperatorClient } from '../../support/operator.js';
import { runLeadctl } from '../../support/run-leadctl.js';
import type { OpenStack } from '../../support/stack.js';
import { leadBody } from '../../support/traffic.js';

const many = {
  lead: { keys: '/leads?external_id={external_ids*}', refs: '/leads?id={refs*}' },
  contact: { keys: '/contacts?person_key={person_keys*}', refs: '/contacts?id={refs*}' },
};
/** A CRM that loses what it confirmed, with people at its screens. */
export const repairedCrms: CrmSite['crms'] = {
  loss: {
    operations: ['contact', 'lead'],
    native_idempotency: true,
    lookup: { contact: '/contacts?person_key={person_key}', lead: '/leads?external_id={external_id}' },
    updates: { contact: { path: '/contacts/{ref}' } },
    reading: { limit: 200, many },
    reconcile: { rate: 100 },
  },
};

export function repairCases(at: CommonStack): void {
  describe('repairing what differs at a CRM', () => {
    const crm = 'loss-crm';
    const lost = testSize() === 'long' ? 5 : 3;
    const begun = new Date();
    let stack: OpenStack;
    let operator: OperatorClient;
    let comparisons: Comparisons;
    let desk: Desk;
    let leads: string[];

    async function post(n: number, more: object = {}): Promise<string> {
      const { status, body } = await stack.intake.post({ ...leadBody(`loss-${n}`, n), form: 'loss', ...more });
      expect(status).toBe(202);
      return String(body.event_id);
    }
    /** The same person writes again, with another number. */
    const postAgain = (n: number, phone: string): Promise<string> => {
      const { name, email } = person(n);
      return post(n, { source_event_id: `loss-again-${n}`, contact: { name, email, phone } });
    };
    const stateOf = async (eventId: string): Promise<string> => {
      const { body } = await stack.intake.get(`/v1/leads/${eventId}`);
      return (body.deliveries as { state: string }[] | undefined)?.[0]?.state ?? 'unknown';
    };
    const delivered = (eventIds: readonly string[]) =>
      eventually(async () => expect(new Set(await Promise.all(eventIds.map(stateOf)))).toEqual(new Set(['delivered'])), 30_000);
    /** Compares until the search of the CRM could have shown everything. */
    const comparedUntil = (wanted: (found: Discrepancy[]) => void) =>
      eventually(async () => {
        await comparisons.run(crm);
        const found = await comparisons.found(crm);
        wanted(found);
        return found;
      }, 30_000);
    const openOnes = (found: readonly Discrepancy[]) => found.filter(({ state }) => state === 'open');
    async function post201<T>(role: 'operator' | 'approver', path: string, body: object): Promise<T> {
      const answer = await operator.ask<T>(role, path, body);
      expect({ path, ...answer }).toMatchObject({ status: path.endsWith('repairs') ? 201 : 200 });
      return answer.body;
    }

    interface Batch {
      state: string;
      counts: { eligible: number; succeeded: number; approved: number };
      canary: { size: number; verified: number };
    }
    interface Drafted {
      batch_id: string;
      hash: string;
      verdicts: object;
    }
    /** Draft, dry run, approval by another person, and the way to its end. */
    async function repaired(request: object): Promise<Batch & { verdicts: Record<string, number> }> {
      const body = { reason: 'they lost it', new_deadline: '10m', rate_per_s: 100, ...request };
      const { batch_id } = await post201<{ batch_id: string }>('operator', 'reconciliation/repairs', body);
      const { hash, verdicts } = await post201<{ hash: string; verdicts: Record<string, number> }>(
        'operator',
        `batches/${batch_id}/dry-run`,
        {},
      );
      await post201('approver', `batches/${batch_id}/approve`, { hash });
      return eventually(async () => {
        const { body: batch } = await operator.ask<Batch>('viewer', `batches/${batch_id}`);
        expect(batch).toMatchObject({ state: 'finished' });
        return { ...batch, verdicts };
      }, 60_000);
    }
    /** As the person of a role would type it; ends with this exit code. */
    async function typed<T>(role: 'viewer' | 'operator' | 'approver', words: readonly string[], exit = 0): Promise<T> {
      const token = stack.endpoints().operatorTokens[role] ?? '';
      const { code, answer, complaint } = await runLeadctl(stack.stack.runDir, ...words, '--token', token);
      expect({ words, code, complaint }).toMatchObject({ code: exit });
      return answer as T;
    }
    const reached = (batchId: string, wanted: object) =>
      eventually(async () => expect((await operator.ask('viewer', `batches/${batchId}`)).body).toMatchObject(wanted), 60_000);
    const settled = (ids: readonly string[], state: string) =>
      eventually(async () => {
        const found = await comparisons.found(crm);
        const own = found.filter(({ discrepancy_id }) => ids.includes(discrepancy_id));
        expect(own).toEqual(own.map((one) => expect.objectContaining({ ...one, state })));
        return own;
      }, 30_000);

    beforeAll(async () => {
      stack = at.open;
      const endpoints = stack.endpoints();
      operator = new OperatorClient(endpoints, join(stack.stack.runDir, 'logs', 'operator-bodies.jsonl'));
      comparisons = new Comparisons(operator, begun);
      desk = new Desk(endpoints, '-loss');
      await desk.rule({ operation: 'lead', times: lost, dropCommit: true });
      leads = await Promise.all(Array.from({ length: lost + 2 }, (_, n) => post(n)));
      await delivered(leads);
    }, 120_000);

    describe('what a CRM confirmed and does not have', () => {
      let missing: Discrepancy[];

      it('is named missing, and made anew by approved items, each once', async () => {
        missing = openOnes(await comparedUntil((found) => expect(openOnes(found)).toHaveLength(lost)));
        expect(missing).toEqual(missing.map((one) => expect.objectContaining({ ...one, class: 'missing', repair: 'create' })));
        const { run_id } = await typed<{ run_id: string }>('operator', ['reconcile', 'run', crm, '--from', begun.toISOString()]);
        const { items: runs } = await typed<{ items: object[] }>('viewer', ['reconcile', 'watch', run_id], 3);
        expect(runs).toMatchObject([{ run_id, state: 'finished', counts: { compared: leads.length, missing: lost } }]);
        const which = ['--destination', crm, '--class', 'missing', '--run', run_id];
        const { items: differing } = await typed<{ items: Discrepancy[] }>('viewer', ['reconcile', 'diff', ...which], 3);
        const ids = missing.map(({ discrepancy_id }) => discrepancy_id);
        expect(differing.map(({ discrepancy_id }) => discrepancy_id)).toEqual(ids);
        const limits = ['--new-deadline', '10m', '--rate', '100', '--reason', 'they lost it'];
        const draft = await typed<Drafted>('operator', ['reconcile', 'repair', ...which, ...limits]);
        expect(draft).toMatchObject({ items: lost, discrepancies: lost });
        const { hash, verdicts } = await typed<Drafted>('operator', ['batches', 'dry-run', draft.batch_id]);
        expect(verdicts).toEqual({ eligible: lost });
        await typed('approver', ['batches', 'approve', draft.batch_id, '--hash', hash]);
        const batch = await typed<Batch>('viewer', ['batches', 'watch', draft.batch_id]);
        expect(batch).toMatchObject({
          state: 'finished',
          counts: { approved: lost, succeeded: lost },
          canary: { size: lost, verified: lost },
        });
        const { leads: kept } = await desk.everything();
        expect(kept.map(({ external_id }) => external_id).sort()).toEqual([...leads].sort());
        expect(await desk.stats()).toMatchObject({ contacts: leads.length, duplicateEffects: 0 });
        for (const one of await settled(ids, 'repaired'))
          expect(one).toMatchObject({ approver: expect.any(String), result: expect.stringMatching(/^succeeded .*lead=/) });
      }, 180_000);

      it('is on the timeline of each: found by which run, approved by whom, with what end', async () => {
        const [one] = missing;
        const { body } = await operator.ask<{ events: { kind: string; title: string; by?: string; detail?: string }[] }>(
          'viewer',
          `leads/${one?.event_id}`,
        );
        const events = body.events.filter(({ kind }) => kind === 'reconciliation');
        expect(events).toMatchObject([
          { title: expect.stringContaining('is not there'), detail: expect.stringContaining(one?.first_run_id ?? '') },
          { title: 'Repair approved', by: expect.any(String) },
          { title: 'Repair ended: succeeded' },
        ]);
      });

      it('is found in its place by the next run, which names nothing new', async () => {
        await comparedUntil((found) => expect(found).toHaveLength(lost));
        const run = await comparisons.run(crm);
        expect(run.counts).toEqual({ compared: leads.length, unconfirmed: 0 });
      }, 60_000);
    });

    describe('what people did at a CRM', () => {
      it('is made again where they deleted it, and left alone where they changed it', async () => {
        const [removed, edited] = await Promise.all(leads.slice(lost).map((eventId) => desk.leadOf(eventId)));
        await desk.remove(removed?.id ?? '');
        await desk.edit(String(edited?.contact_id), { phone: '+12025550199' });
        const found = openOnes(await comparedUntil((all) => expect(openOnes(all)).toHaveLength(2)));
        expect(found.map(({ class: kind, aspect, repair }) => [kind, aspect, repair]).sort()).toEqual([
          ['content_conflict', 'human_change', undefined],
          ['deleted', undefined, 'create'],
        ]);
        const batch = await repaired({ ids: found.map(({ discrepancy_id }) => discrepancy_id) });
        expect(batch).toMatchObject({ verdicts: { eligible: 1 }, counts: { succeeded: 1 } });
        const after = await desk.everything();
        expect(after.leads.filter(({ external_id }) => external_id === removed?.external_id)).toHaveLength(1);
        expect(after.contacts.find(({ id }) => id === edited?.contact_id)).toMatchObject({ phone: '+12025550199' });
      }, 90_000);

      it('is never written over by a repair that was approved before', async () => {
        // The newest submission's number is confirmed and not kept.
        await desk.rule({ operation: 'contact', times: 1, dropCommit: true });
        const again = await postAgain(0, '+12025550177');
        await delivered([again]);
        const [conflict] = openOnes(
          await comparedUntil((all) => expect(openOnes(all).filter(({ aspect }) => aspect === 'value')).toHaveLength(1)),
        ).filter(({ aspect }) => aspect === 'value');
        expect(conflict).toMatchObject({
          class: 'content_conflict',
          repair: 'update',
          fields: expect.arrayContaining(['phone']),
          kind: 'contact',
        });
        const ids = [conflict?.discrepancy_id ?? ''];
        const { batch_id } = await post201<{ batch_id: string }>('operator', 'reconciliation/repairs', {
          ids,
          reason: 'their update was lost',
        });
        const { hash, verdicts } = await post201<{ hash: string; verdicts: object }>('operator', `batches/${batch_id}/dry-run`, {});
        expect(verdicts).toEqual({ eligible: 1 });
        await post201('operator', `destinations/${crm}/hold`, { reason: 'before anything is sent' });
        await post201('approver', `batches/${batch_id}/approve`, { hash });
        await reached(batch_id, { state: 'paused', why: { code: 'destination_held' } });
        await desk.edit(conflict?.ref ?? '', { phone: '+12025550188' });
        await post201('operator', `destinations/${crm}/release`, { reason: 'somebody has edited' });
        await post201('approver', `batches/${batch_id}/resume`, { reason: 'it is released' });
        await reached(batch_id, { state: 'finished', counts: { succeeded: 0 } });
        const { body } = await operator.ask<{ items: object[] }>('viewer', `batches/${batch_id}/items`);
        expect(body.items).toMatchObject([{ state: 'ended', detail: 'changed_by_person' }]);
        await settled(ids, 'repair_failed');
        const { contacts } = await desk.everything();
        expect(contacts.find(({ id }) => id === conflict?.ref)).toMatchObject({ phone: '+12025550188' });
      }, 90_000);

      it('is no obstacle where they did nothing: a lost update is written again, once', async () => {
        await desk.rule({ operation: 'contact', times: 1, dropCommit: true });
        const again = await postAgain(1, '+12025550166');
        await delivered([again]);
        const [conflict] = openOnes(
          await comparedUntil((all) => expect(openOnes(all).filter(({ event_id }) => event_id === again)).toHaveLength(1)),
        ).filter(({ event_id }) => event_id === again);
        expect(conflict).toMatchObject({ aspect: 'value', repair: 'update' });
        const before = (await desk.stats()).contacts;
        expect(await repaired({ ids: [conflict?.discrepancy_id ?? ''] })).toMatchObject({ counts: { succeeded: 1 } });
        const { contacts } = await desk.everything();
        expect(contacts.find(({ id }) => id === conflict?.ref)).toMatchObject({ phone: '+12025550166' });
        expect((await desk.stats()).contacts).toBe(before);
        await settled([conflict?.discrepancy_id ?? ''], 'repaired');
      }, 90_000);
    });
  });
}
