import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Discrepancy } from '#delivery';
import { Comparisons } from '../support/comparisons.js';
import { eventually } from '../support/eventually.js';
import { OperatorClient } from '../support/operator.js';
import { BatchClient } from '../support/replay-batches.js';
import { closeMs, type OpenStack, openStack } from '../support/stack.js';
import { type CuttingDoor, openCuttingDoor } from './cutting-door.js';
import { startTryton, type Tryton } from './start-tryton.js';
import { type PostedLead, TrytonLeads } from './tryton-leads.js';
import { writeTrytonSite } from './tryton-site.js';

/** A Tryton in which people work, compared with what was delivered there, and repaired where a second person agrees. */
const form = 'desk';
const destination = `${form}-crm`;
const lostPhone = '+12025550188';
/** `max_execution` and `search_lag` of the site: before that a comparison says nothing of what a record holds. */
const readableMs = 2_100;
const begun = new Date();

let tryton: Tryton;
let door: CuttingDoor;
let site: ReturnType<typeof writeTrytonSite>;
let open: OpenStack;
let leads: TrytonLeads;
let comparisons: Comparisons;
let batches: BatchClient;

beforeAll(async () => {
  tryton = await startTryton();
  door = await openCuttingDoor(tryton.url);
  site = writeTrytonSite(tryton, {
    forms: [form],
    url: () => `${door.url}/${form}`,
    settings: {
      backoff: { base: '10m', cap: '10m' },
      reconcile: {
        rate: 100,
        status: {
          transitions: { lead: ['opportunity', 'lost', 'cancelled', 'converted'], opportunity: [], lost: [], cancelled: [], converted: [] },
        },
      },
    },
  });
  open = await openStack({ config: site.file, env: site.env });
  leads = new TrytonLeads(open, tryton);
  comparisons = new Comparisons(new OperatorClient(open.endpoints()), begun);
  batches = new BatchClient(open);
}, 400_000);

afterAll(async () => {
  await leads?.close();
  await open?.close();
  await door?.close();
  await tryton?.stop();
  site?.remove();
}, closeMs);

const opportunityOf = async ({ eventId }: PostedLead): Promise<{ id: number; party: number; employee: number | null }> => {
  const found = await tryton.sql<{ id: number; party: number; employee: number | null }>(
    'select id, party, employee from sale_opportunity where reference = $1 order by id',
    [eventId],
  );
  if (found[0] === undefined) throw new Error(`${eventId} is not there`);
  return found[0];
};
const phoneOf = async (party: number): Promise<{ id: number; value: string }> => {
  const [phone] = await tryton.sql<{ id: number; value: string }>(
    "select id, value from party_contact_mechanism where party = $1 and type = 'phone'",
    [party],
  );
  return phone ?? { id: 0, value: '' };
};
/** Every record that a lead can be, with the time of its last write. */
const everything = (): Promise<unknown[]> =>
  tryton.sql(`select 'o' as kind, id, coalesce(write_date, create_date) as at from sale_opportunity
    union all select 'p', id, coalesce(write_date, create_date) from party_party
    union all select 'm', id, coalesce(write_date, create_date) from party_contact_mechanism order by 1, 2`);
const named = (found: readonly Discrepancy[]) =>
  found.map((one) => [one.class, one.aspect, one.event_id, one.repair].map((word) => word ?? '').join(' ')).sort();
const stillOpen = async (): Promise<Discrepancy[]> => (await comparisons.found(destination)).filter(({ state }) => state === 'open');

describe('a comparison with a Tryton that people work in', () => {
  const posted: Record<string, PostedLead> = {};
  const lead = (name: string): PostedLead => posted[name] ?? { eventId: '', form, email: '' };
  const wanted = () => ({
    deleted: `deleted  ${lead('deleted').eventId} create`,
    duplicate: `duplicate  ${lead('doubled').eventId} `,
    human: `content_conflict human_change ${lead('edited').eventId} `,
    lost: `content_conflict value ${lead('lost').eventId} update`,
    unowned: `relationship assigned_without_owner ${lead('unowned').eventId} `,
    twin: `possible_manual_twin  ${lead('waiting').eventId} `,
  });

  it('finds nothing where nobody did anything', async () => {
    const names = ['deleted', 'doubled', 'edited', 'changed', 'unowned', 'merged'];
    for (const [n, name] of names.entries()) posted[name] = await leads.post(form, n);
    await leads.delivered([form], 60_000);
    await delay(readableMs);
    const run = await comparisons.run(destination);
    expect(run.counts).toMatchObject({ compared: names.length });
    expect(named(await comparisons.found(destination))).toEqual([]);
  }, 120_000);

  it('names what people did and what was lost on the way, once each, and changes nothing', async () => {
    await peopleWork();
    await delay(readableMs);
    const before = await everything();
    await comparisons.run(destination);
    expect(named(await stillOpen())).toEqual(Object.values(wanted()).sort());
    const conflicts = (await stillOpen()).filter((one) => one.class === 'content_conflict');
    expect(conflicts.map(({ fields }) => fields)).toEqual([['phone'], ['phone']]);
    expect(JSON.stringify(await comparisons.found(destination))).not.toMatch(/202\D{0,2}555/);
    expect(await everything()).toEqual(before);
  }, 120_000);

  it('repairs what a second person approved, and afterwards reports what is left and nothing new', async () => {
    const edited = await opportunityOf(lead('edited'));
    const repairable = (await stillOpen()).filter(({ repair }) => repair !== undefined);
    const { batch_id, items } = await batches.done<{ batch_id: string; items: number }>('operator', '/v1/reconciliation/repairs', {
      ids: repairable.map(({ discrepancy_id }) => discrepancy_id),
      reason: 'lost there',
    });
    expect(items).toBe(2);
    const { hash } = await batches.done<{ hash: string }>('operator', `/v1/batches/${batch_id}/dry-run`, {});
    expect((await batches.ask('operator', `/v1/batches/${batch_id}/approve`, { hash })).status).toBe(403);
    await batches.done('approver', `/v1/batches/${batch_id}/approve`, { hash });
    await eventually(async () => expect(await batches.report(batch_id)).toMatchObject({ state: 'finished' }), 120_000);

    expect(await opportunityOf(lead('deleted'))).toMatchObject({ employee: tryton.employees.ada });
    expect(await phoneOf((await opportunityOf(lead('lost'))).party)).toMatchObject({ value: lostPhone });
    expect(await phoneOf(edited.party)).toMatchObject({ value: '+12025550122' });
    await delay(readableMs);
    await comparisons.run(destination);
    const { deleted: _deleted, lost: _lost, ...left } = wanted();
    await eventually(async () => expect(named(await stillOpen())).toEqual(Object.values(left).sort()));
    await eventually(async () => {
      const settled = (await comparisons.found(destination)).filter(({ repair }) => repair !== undefined);
      expect(settled).toHaveLength(2);
      for (const one of settled) expect(one).toMatchObject({ state: 'repaired', approver: expect.any(String), by: expect.any(String) });
    });
  }, 240_000);

  /** Somebody had typed in a person of ours as well, and merges the two; then that person writes once more. No finding comes of it. */
  async function mergePerson(): Promise<void> {
    const { party: source } = await opportunityOf(lead('merged'));
    const [person] = await tryton.sql<{ name: string }>('select name from party_party where id = $1', [source]);
    const contact_mechanisms = [['create', [{ type: 'email', value: 'elsewhere@example.test' }]]];
    const [destination] = await tryton.desk.call<number[]>('party.party.create', [[{ name: person?.name, contact_mechanisms }]]);
    await tryton.desk.wizard('party.replace', { source, destination }, 'replace');
    expect((await opportunityOf(lead('merged'))).party).toBe(destination);
    posted.again = await leads.post(form, 5);
    await leads.delivered([form], 60_000);
    expect((await opportunityOf(lead('again'))).party).toBe(destination);
  }

  /** What people do by hand, and one change of ours that Tryton never heard of. */
  async function peopleWork(): Promise<void> {
    const { desk } = tryton;
    const [deleted, doubled, edited, unowned] = await Promise.all(
      ['deleted', 'doubled', 'edited', 'unowned'].map((name) => opportunityOf(lead(name))),
    );
    await desk.call('sale.opportunity.cancel', [[deleted?.id]]);
    await desk.call('sale.opportunity.delete', [[deleted?.id]]);
    await desk.call('sale.opportunity.copy', [[doubled?.id], {}]);
    const { id: phone } = await phoneOf(edited?.party ?? 0);
    await desk.call('party.contact_mechanism.write', [[phone], { value: '+12025550122' }]);
    await desk.call('sale.opportunity.write', [[unowned?.id], { employee: null }]);
    await mergePerson();
    door.cut(form, { method: 'party.party.write', times: 1, fault: 'lose' });
    posted.lost = await leads.post(form, 3, lostPhone);
    await leads.delivered([form], 60_000);
    door.cut(form, { method: 'party.party.create', times: 1_000, fault: 'refuse' });
    posted.waiting = await leads.post(form, 9);
    await eventually(() => expect(door.hits(form, 'party.party.create')).toBeGreaterThan(0));
    const contact_mechanisms = [['create', [{ type: 'email', value: lead('waiting').email }]]];
    const [party] = await desk.call<number[]>('party.party.create', [[{ name: 'Rang us up', contact_mechanisms }]]);
    await desk.call('sale.opportunity.create', [[{ party, description: 'By phone', company: tryton.company }]]);
  }
});
