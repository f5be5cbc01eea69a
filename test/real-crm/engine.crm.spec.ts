import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import type { CrashPoint } from '#runtime';
import { freePortRange, pause, testSize } from '#testkit';
import { Crashes } from '../support/crashes.js';
import { eventually } from '../support/eventually.js';
import { type SecondWriter, startSecondWriter } from '../support/second-writer.js';
import { type OpenStack, openStack } from '../support/stack.js';
import { type ReadRecord, readTopic } from '../support/topics.js';
import { type CuttingDoor, openCuttingDoor } from './cutting-door.js';
import { startTryton, type Tryton } from './start-tryton.js';
import { TrytonLeads } from './tryton-leads.js';
import { writeTrytonSite } from './tryton-site.js';

/**
 * The failure engine before a CRM that nobody here wrote. The answer of every kind of call is lost after the server has committed, and the
 * writer is killed at every step; afterwards every person is one party, every lead one opportunity, and the writer knows their ids.
 */
const long = testSize() === 'long';
const count = long ? 100 : 10;
const settleMs = long ? 900_000 : 120_000;

const partyCreate = 'party.party.create';
const partyWrite = 'party.party.write';
const opportunityCreate = 'sale.opportunity.create';
const opportunityLookup = 'sale.opportunity.search_read';

/** Calls whose answers are lost, by form. */
const cuts: Record<string, readonly string[]> = {
  'party-made': [partyCreate],
  'party-changed': [partyWrite],
  'opportunity-made': [opportunityCreate],
  'lookup-lost': [opportunityCreate, opportunityLookup],
  'login-lost': ['db.login'],
  ...(long && { 'all-lost': [partyCreate, opportunityCreate] }),
};
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
}, 60_000);

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
        const times = form === 'login-lost' ? 1 : count;
        for (const method of methods) door.cut(form, { method, times, fault: 'cut' });
      }
      const newPhone = '+12025559999';
      await Promise.all(Object.keys(cuts).map((form) => leads.postMany(form, count, form === 'party-changed' ? newPhone : undefined)));
      await leads.delivered(Object.keys(cuts), settleMs);
      for (const [form, methods] of Object.entries(cuts)) {
        expect([form, await leads.account(form)]).toEqual([form, form === 'party-changed' ? whole(count, 2 * count) : whole(count)]);
        expect([form, ...methods.map((method) => door.hits(form, method))]).toEqual([
          form,
          ...methods.map(() => (form === 'login-lost' ? 1 : count)),
        ]);
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
  it(
    'that are given the same event make one opportunity, and both say so',
    async () => {
      second = await startSecondWriter(open.stack, { config: site.file, env: { ...timings, ...site.env }, port: await freePortRange(1) });
      door.cut('twice', { method: opportunityCreate, times: 20, fault: 'hold' });
      await leads.post('twice', 0);
      await eventually(() => expect(door.hits('twice', opportunityCreate)).toBe(1));
      const [{ eventId } = { eventId: '' }] = leads.posted.slice(-1);
      await sendToEveryPartition(await acceptedRecord(eventId));
      // All copies have been taken while the first one was under way.
      await eventually(async () => expect(await lag('twice-crm')).toBe(0), 30_000).catch(() => undefined);
      door.release();
      await leads.delivered(['twice'], settleMs);
      expect(await leads.account('twice')).toEqual(whole(1));
      expect(door.hits('twice', opportunityCreate)).toBe(1);
    },
    settleMs,
  );
});

const kafka = (): Kafka =>
  new Kafka({ brokers: open.endpoints().kafkaBrokers.split(','), clientId: 'real-crm', logLevel: logLevel.NOTHING });

async function acceptedRecord(eventId: string): Promise<ReadRecord> {
  for await (const record of readTopic(open.endpoints().kafkaBrokers, (topic) => topic === 'lead.accepted')) {
    if (record.value?.includes(eventId)) return record;
  }
  throw new Error(`${eventId} is not on the topic`);
}

async function sendToEveryPartition({ topic, key, value, headers }: ReadRecord): Promise<void> {
  const producer = kafka().producer();
  await producer.connect();
  const messages = Array.from({ length: 6 }, (_, partition) => ({ key, value, headers, partition }));
  await producer.send({ topic, messages }).finally(() => producer.disconnect());
}

/** Records that the destination's group has not committed yet. */
async function lag(destination: string): Promise<number> {
  const admin = kafka().admin();
  await admin.connect();
  try {
    const ends = await admin.fetchTopicOffsets('lead.accepted');
    const [committed] = await admin.fetchOffsets({ groupId: `crm-writer.${destination}`, topics: ['lead.accepted'] });
    return ends.reduce((sum, { partition, high }) => {
      const at = Number(committed?.partitions.find((one) => one.partition === partition)?.offset ?? -1);
      return sum + Math.max(0, Number(high) - Math.max(0, at));
    }, 0);
  } finally {
    await admin.disconnect();
  }
}
