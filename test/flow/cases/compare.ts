import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { newEventId } from '#runtime';
import { testSize } from '#testkit';
import { person } from '../../privacy/planted.js';
import type { CommonStack } from '../../support/common-stack.js';
import { Comparisons } from '../../support/comparisons.js';
import type { CrmSite } from '../../support/crm-site.js';
import { Desk, type Kept } from '../../support/desk.js';
import { eventually } from '../../support/eventually.js';
import { OperatorClient } from '../../support/operator.js';
import type { OpenStack } from '../../support/stack.js';
import { leadBody } from '../../support/traffic.js';

const reading = {
  limit: 200,
  many: { lead: { keys: '/leads?external_id={external_ids*}', refs: '/leads?id={refs*}' } },
  changed_since: { lead: '/leads?changed_since={from}&changed_before={to}&limit={limit}&cursor={cursor}' },
};
export const comparedCrms: CrmSite['crms'] = {
  // A CRM with people at its screens.
  desk: {
    operations: ['contact', 'lead'],
    native_idempotency: true,
    lookup: { contact: '/contacts?person_key={person_key}', lead: '/leads?external_id={external_id}' },
    updates: { contact: { path: '/contacts/{ref}' } },
    // Once tried, a lead waits for longer than this takes.
    backoff: { base: '10m', cap: '10m' },
    reading: {
      ...reading,
      many: { ...reading.many, contact: { keys: '/contacts?person_key={person_keys*}', refs: '/contacts?id={refs*}' } },
    },
    reconcile: {
      rate: 100,
      fields: { 'custom.budget': 'theirs' },
      status: { transitions: { new: ['contacted'], contacted: ['won'], won: [] } },
    },
  },
  // One that says yes and writes nothing.
  drop: { reading, reconcile: { rate: 100 } },
  // One whose search shows late what was written, and that has no idempotency keys.
  lag: { search_lag: '10s', reading, reconcile: { rate: 100 } },
};

export function compareCases(at: CommonStack): void {
  describe('comparing with a CRM', () => {
    /** `max_execution` and `search_lag` of the sites' CRMs: before that a comparison says nothing of what a record holds. */
    const readableMs = 3_100;
    const dropped = testSize() === 'long' ? 5 : 2;
    const begun = new Date();
    let stack: OpenStack;
    let comparisons: Comparisons;
    let desk: Desk;
    let drop: Desk;
    let lag: Desk;
    let laggards: string[];
    /** What comparisons with the lagging CRM named, from the first second on until every lead was delivered there. */
    let namedWhileLagging: Promise<Set<string>>;
    let droppedLeads: string[];

    async function post(form: string, n: number, more: object = {}): Promise<string> {
      const { status, body } = await stack.intake.post({ ...leadBody(`${form}-${n}`, n), form, ...more });
      expect(status).toBe(202);
      return String(body.event_id);
    }
    const posted = (form: string, count: number) => Promise.all(Array.from({ length: count }, (_, n) => post(form, n)));
    const stateOf = async (eventId: string): Promise<string> => {
      const { body } = await stack.intake.get(`/v1/leads/${eventId}`);
      return (body.deliveries as { state: string }[] | undefined)?.[0]?.state ?? 'unknown';
    };
    const all = (eventIds: readonly string[], state: string, timeoutMs?: number) =>
      eventually(async () => expect(new Set(await Promise.all(eventIds.map(stateOf)))).toEqual(new Set([state])), timeoutMs);
    const named = async (destination: string) =>
      (await comparisons.found(destination)).filter(({ state }) => state === 'open').map((one) => one.class);

    async function watchLag(): Promise<Set<string>> {
      const seen = new Set<string>();
      for (;;) {
        // One answer was lost: that lead is delivered only once a lookup can have found it.
        const isOver = (await Promise.all(laggards.map(stateOf))).every((state) => state === 'delivered');
        await comparisons.run('lag-crm');
        for (const one of await named('lag-crm')) seen.add(one);
        if (isOver) return seen;
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }

    beforeAll(async () => {
      stack = at.open;
      const endpoints = stack.endpoints();
      comparisons = new Comparisons(new OperatorClient(endpoints, join(stack.stack.runDir, 'logs', 'operator-bodies.jsonl')), begun);
      desk = new Desk(endpoints, '-desk');
      drop = new Desk(endpoints, '-drop');
      lag = new Desk(endpoints, '-lag');
      await Promise.all([
        desk.rule({ operation: 'lead', campaign: 'waits', status: 503 }),
        drop.rule({ operation: 'lead', times: dropped, dropCommit: true }),
        lag.rule({ searchLagMs: 10_000 }),
        lag.rule({ operation: 'lead', times: 1, reset: 'after' }),
      ]);
      laggards = await posted('lag', 4);
      namedWhileLagging = watchLag();
      namedWhileLagging.catch(() => undefined);
      droppedLeads = await posted('drop', dropped + 1);
    }, 120_000);

    describe('a comparison with a CRM that people work in', () => {
      let leads: string[];
      let waiting: string;
      let before: { leads: Kept[]; contacts: Kept[] };

      it('finds nothing where nothing differs, and takes what people add for theirs', async () => {
        // A form may name its fields as it likes.
        leads = [...(await posted('desk', 3)), await post('desk', 3, { custom: { [person(7).email]: 'yes' } })];
        waiting = await post('desk', 4, { campaign: 'waits' });
        await all(leads, 'delivered');
        await all([waiting], 'waiting');
        await delay(readableMs);
        const [first] = leads;
        await desk.edit((await desk.leadOf(first ?? '')).id, { custom: { budget: 'large' }, status: 'contacted' });
        const run = await comparisons.run('desk-crm');
        expect(run.counts).toEqual({ compared: 5, unconfirmed: 0 });
        expect(await named('desk-crm')).toEqual([]);
      }, 60_000);

      it('names each thing that somebody did there once, with who acts next, and no value of a person', async () => {
        const records = await Promise.all(leads.map((eventId) => desk.leadOf(eventId)));
        const [removed, doubled, edited, strange] = records as [Kept, Kept, Kept, Kept];
        await desk.remove(removed.id);
        const copy = await desk.copy(doubled.id);
        await desk.edit(String(edited.contact_id), { phone: '+12025550199' });
        await desk.edit(strange.id, { custom: { [person(7).email]: 'no' } });
        const { contacts } = await desk.everything();
        const person4 = contacts.find(({ email }) => email === person(4).email);
        const typed = await desk.typeIn('lead', { contact_id: person4?.id, message: 'rang us up' });
        const nobodys = newEventId();
        const stranger = await desk.typeIn('lead', { external_id: nobodys, message: 'from nowhere' });
        await desk.typeIn('lead', { external_id: randomUUID(), message: 'of another system' });
        before = await desk.everything();
        await comparisons.run('desk-crm');
        const found = await comparisons.found('desk-crm');
        expect(found.map((one) => [one.class, one.aspect, one.repair, one.event_id, one.ref]).sort()).toEqual(
          [
            ['content_conflict', 'human_change', undefined, leads[2], edited.contact_id],
            ['content_conflict', 'human_change', undefined, leads[3], strange.id],
            ['deleted', undefined, 'create', leads[0], removed.id],
            ['duplicate', undefined, undefined, leads[1], copy],
            ['orphan', undefined, undefined, nobodys, stranger],
            ['possible_manual_twin', undefined, undefined, waiting, typed],
          ].sort(),
        );
        const fieldsOf = (eventId?: string) => found.find((one) => one.event_id === eventId)?.fields;
        expect([fieldsOf(leads[2]), fieldsOf(leads[3])]).toEqual([['phone'], [expect.stringMatching(/^custom\.#[0-9a-f]{8}$/)]]);
        for (const one of found)
          expect(one).toMatchObject({ owner: expect.any(String), next_step: expect.stringMatching(/\w/), state: 'open' });
        expect(JSON.stringify(found)).not.toContain('5550199');
      }, 60_000);

      it('finds nothing new a second time, and has changed nothing there', async () => {
        const first = await comparisons.found('desk-crm');
        await comparisons.run('desk-crm');
        const second = await comparisons.found('desk-crm');
        expect(second.map(({ discrepancy_id, first_run_id, state }) => ({ discrepancy_id, first_run_id, state }))).toEqual(
          first.map(({ discrepancy_id, first_run_id, state }) => ({ discrepancy_id, first_run_id, state })),
        );
        expect(await desk.everything()).toEqual(before);
      }, 60_000);
    });

    describe('a comparison with a CRM that says yes and writes nothing', () => {
      it('says missing only of what two looks did not find, and leaves it to a person', async () => {
        await all(droppedLeads, 'delivered');
        const first = await eventually(async () => {
          const run = await comparisons.run('drop-crm');
          // Until its search may show what was written, absence says nothing.
          expect(run.counts.unconfirmed).toBe(dropped);
          return run;
        });
        expect(first.counts).toEqual({ compared: dropped + 1, unconfirmed: dropped });
        expect(await named('drop-crm')).toEqual([]);
        await eventually(async () => {
          await comparisons.run('drop-crm');
          expect(await named('drop-crm')).toEqual(Array.from({ length: dropped }, () => 'missing'));
        });
        const found = await comparisons.found('drop-crm');
        const { leads: kept } = await drop.everything();
        expect(kept).toHaveLength(1);
        expect(found.map(({ event_id }) => event_id).sort()).toEqual(droppedLeads.filter((id) => id !== kept[0]?.external_id).sort());
        expect(found).toEqual(found.map((one) => expect.objectContaining({ ...one, urgency: 'high', repair: 'create' })));
      }, 60_000);
    });

    describe('a comparison with a CRM whose search lags', () => {
      it('never says missing of what is there, and nothing is written twice', async () => {
        expect(await namedWhileLagging).toEqual(new Set());
        const last = await comparisons.run('lag-crm');
        expect(last.counts).toEqual({ compared: laggards.length, unconfirmed: 0 });
        expect(await comparisons.found('lag-crm')).toEqual([]);
        expect(await lag.stats()).toMatchObject({ records: laggards.length, duplicateEffects: 0 });
      }, 90_000);
    });
  });
}
