import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CrashPoint } from '#runtime';
import { freePortRange, pause, testSize } from '#testkit';
import { Crashes } from '../support/crashes.js';
import { eventually } from '../support/eventually.js';
import { restartWith } from '../support/restart-with.js';
import { type SecondWriter, startSecondWriter } from '../support/second-writer.js';
import { closeMs, type OpenStack, openStack } from '../support/stack.js';
import { type CuttingDoor, openCuttingDoor } from './cutting-door.js';
import { EventCopies } from './event-copies.js';
import { startTryton, type Tryton } from './start-tryton.js';
import { type PostedLead, TrytonLeads } from './tryton-leads.js';
import { writeTrytonSite } from './tryton-site.js';

/**
 * The failure engine before a CRM that nobody here wrote. The answer of every kind of call is lost after the server has committed, and the
 * writer is killed at every step; afterwards every person is one party, every lead one opportunity, and the writer knows their ids.
 */
const long = testSize() === 'long';
const count = long ? 100 : 10;
const settleMs = long ? 900_000 : 240_000;

const partyCreate = 'party.party.create';
const partyWrite = 'party.party.write';
const partyLookup = 'party.party.search_read';
const opportunityCreate = 'sale.opportunity.create';
const opportunityLookup = 'sale.opportunity.search_read';

/** Calls whose answers are lost, each once for every lead of the form. */
const cuts: Record<string, readonly string[]> = {
  'party-made': [partyCreate],
  // The create that is repeated meets the code that the first one has taken.
  'party-found': [partyCreate, partyLookup],
  'party-changed': [partyLookup, partyWrite],
  'opportunity-made': [opportunityCreate],
  'lookup-lost': [opportunityCreate, opportunityLookup],
  'login-lost': ['db.login'],
  'preferences-lost': ['res.user.get_preferences'],
  ...(long && { 'all-lost': [partyCreate, opportunityCreate] }),
};
/** One session serves all leads. */
const oncePerSession: readonly string[] = ['db.login', 'res.user.get_preferences'];
const steps: readonly CrashPoint[] = long
  ? ['claimed', 'marked', 'sent', 'answered', 'recorded', 'published', 'deleted', 'settled', 'committed', 'looked_up', 'verified']
  : ['marked', 'sent', 'answered', 'recorded'];
const killed = (step: CrashPoint): string => `killed-${step.replace('_', '-')}`;
const forms = [...Object.keys(cuts), ...steps.map(killed), 'pair', 'twice'];
const timings = { LEASE_MS: '8000', SWEEP_MS: '1000', KAFKA_SESSION_TIMEOUT_MS: '3000' };

let tryton: Tryton;
let door: CuttingDoor;
let site: ReturnType<typeof writeTrytonSite>;
let open: OpenStack;
let leads: TrytonLeads;
let second: SecondWriter | undefined;

beforeAll(async () => {
  tryton = await startTryton();
  door = await openCuttingDoor(tryton.url);
  site = writeTrytonSite(tryton, { forms, url: (form) => `${door.url}/${form}` });
  open = await openStack({ config: site.file, env: { ...timings, ...site.env } });
  leads = new TrytonLeads(open, tryton);
}, 400_000);

afterAll(async () => {
  await second?.stop();
  await leads?.close();
  await open?.close();
  await door?.close();
  await tryton?.stop();
  site?.remove();
}, closeMs);

const whole = (people: number, enquiries = people) => ({
  delivered: enquiries,
  parties: people,
  opportunities: enquiries,
  duplicates: 0,
  wrongRefs: 0,
});

describe('an answer that is lost after the commit', () => {
  it(
    'doubles nothing and loses nothing, whatever was called',
    async () => {
      await leads.postMany('party-changed', count);
      await leads.delivered(['party-changed'], settleMs);
      for (const [form, methods] of Object.entries(cuts)) {
        for (const method of methods) door.cut(form, { method, times: 'once each', fault: 'cut' });
      }
      const newPhone = '+12025550199';
      await Promise.all(Object.keys(cuts).map((form) => leads.postMany(form, count, form === 'party-changed' ? newPhone : undefined)));
      await leads.delivered(Object.keys(cuts), settleMs);
      for (const [form, methods] of Object.entries(cuts)) {
        expect([form, await leads.account(form)]).toEqual([form, form === 'party-changed' ? whole(count, 2 * count) : whole(count)]);
        for (const method of methods) {
          const lost = door.subjects(form, method);
          expect([form, method, lost.length]).toEqual([form, method, oncePerSession.includes(method) ? 1 : count]);
        }
      }
      const changed = await tryton.sql("select id from party_contact_mechanism where type = 'phone' and value = $1", [newPhone]);
      expect(changed).toHaveLength(count);
    },
    settleMs * 3,
  );
});

describe('two leads of one person', () => {
  it(
    '50 ms apart are one party and two opportunities',
    async () => {
      const people = 5;
      await Promise.all(
        Array.from({ length: people }, async (_, n) => {
          const first = leads.post('pair', n);
          await pause(50);
          await Promise.all([first, leads.post('pair', n)]);
        }),
      );
      await leads.delivered(['pair'], settleMs);
      expect(await leads.account('pair')).toEqual(whole(people, 2 * people));
    },
    settleMs,
  );
});

describe('a writer that is killed', () => {
  it(
    'at any step costs no lead and doubles none',
    async () => {
      const crashes = new Crashes(open.stack, 'crm-writer');
      for (const step of steps) {
        const form = killed(step);
        if (step === 'looked_up' || step === 'verified') door.cut(form, { method: opportunityCreate, times: 1, fault: 'cut' });
        await crashes.arm({ point: step, env: { LD_DESTINATIONS: `${form}-crm` } });
        await leads.postMany(form, count);
        await crashes.reached(step);
      }
      await crashes.disarm();
      await leads.delivered(steps.map(killed), settleMs);
      for (const step of steps) expect([step, await leads.account(killed(step))]).toEqual([step, whole(count)]);
    },
    settleMs * 3,
  );
});

describe('two writers', () => {
  const form = 'twice';
  const destination = `${form}-crm`;
  /** Longer than the answers are held. */
  const patience = { LEASE_MS: '120000', LD_DESTINATIONS: destination };

  it(
    'that are given the same event make one opportunity, and the one that loses it to the other records the same id',
    async () => {
      const patient = writeTrytonSite(tryton, { forms, url: (name) => `${door.url}/${name}`, settings: { timeout_ms: 90_000 } });
      const copies = new EventCopies(open.endpoints().kafkaBrokers);
      // The first one never sweeps: it is stopped in the midst of its work, and must not hold the sweepers' turn then.
      const env = { ...timings, ...site.env, ...patience, LD_SITE_FILE: patient.file, SWEEP_MS: '3600000' };
      await restartWith(open.stack, { app: 'crm-writer', signal: 'SIGTERM', env });
      door.cut(form, { method: opportunityCreate, times: 20, fault: 'hold' });
      const [kept, lost] = [await leads.post(form, 0), await leads.post(form, 1)];
      await eventually(() => expect(door.hits(form, opportunityCreate)).toBe(2), 60_000);

      const port = await freePortRange(1);
      second = await startSecondWriter(open.stack, { config: patient.file, env: { ...timings, ...site.env, ...patience }, port });
      const share = await eventually(async () => {
        const [one = 0, other, ...more] = await copies.shares(destination);
        expect([one > 0, other, more]).toEqual([true, one, []]);
        return one;
      }, 60_000);
      const sent = [await copies.send(kept.eventId), await copies.send(lost.eventId)];
      expect(sent).toEqual([2 * share, 2 * share]);
      // The other one has read its copies of both, perhaps the records themselves too, and has sent nothing.
      const dropped = (): Promise<number> => sampleOf(port, `leads_inbox_duplicates_total{consumer="${destination}"}`);
      await eventually(async () => expect(await dropped()).toBeGreaterThanOrEqual(2 * share), 60_000);
      expect(door.hits(form, opportunityCreate)).toBe(2);

      const first = open.endpoints().pids['crm-writer'] ?? Number.NaN;
      process.kill(first, 'SIGSTOP');
      try {
        const outcomes = async () => (await leads.leadAttempts(lost)).map(({ outcome }) => outcome);
        await leads.endLease(lost);
        await eventually(async () => expect(await outcomes()).toEqual(['lease_expired']), 60_000);
        await leads.endWait(lost);
        await eventually(async () => expect(await outcomes()).toEqual(['lease_expired', 'lookup_found']), 60_000);
        expect(await sampleOf(port, `leads_lookups_total{destination="${destination}",outcome="found"}`)).toBe(1);
      } finally {
        process.kill(first, 'SIGCONT');
      }
      door.release();
      await leads.delivered([form], settleMs);
      const { id } = await recordOf(lost);
      await eventually(async () =>
        expect(await leads.leadAttempts(lost)).toEqual([
          { outcome: 'lease_expired', late: false, ref: null },
          { outcome: 'lookup_found', late: false, ref: id },
          { outcome: 'succeeded', late: true, ref: id },
        ]),
      );
      expect(await leads.leadAttempts(kept)).toEqual([{ outcome: 'succeeded', late: false, ref: (await recordOf(kept)).id }]);
      expect(await leads.account(form)).toEqual(whole(2));
      expect(door.hits(form, opportunityCreate)).toBe(2);
      patient.remove();
    },
    settleMs * 2,
  );
});

async function recordOf({ eventId }: PostedLead): Promise<{ id: string }> {
  const [record] = await tryton.sql<{ id: string }>('select id::text from sale_opportunity where reference = $1', [eventId]);
  return record ?? { id: '' };
}

/** A sample of the second writer's metrics; 0 where it has none yet. */
async function sampleOf(port: number, series: string): Promise<number> {
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const line = page.split('\n').find((text) => text.startsWith(`${series} `));
  return Number(line?.slice(series.length) ?? 0);
}
