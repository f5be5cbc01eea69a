import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import pg from 'pg';
import { groups, retryTopic, topics } from '#contracts';
import type { DestinationsAnswer } from '#delivery';
import type { InternalClient } from '#runtime';
import { freePortRange, pause, testSize } from '#testkit';
import { CrmFigures } from '../support/crm-figures.js';
import { writeCrmSite } from '../support/crm-site.js';
import { eventually } from '../support/eventually.js';
import { FormLeads, internalOf } from '../support/form-leads.js';
import { type SecondWriter, startSecondWriter } from '../support/second-writer.js';
import { closeMs, type OpenStack, openStack } from '../support/stack.js';

/** Three processes of crm-writer share six partitions, with CRMs that hang for longer than a session of Kafka lasts or are used up for today. */
const long = testSize() === 'long';
const sessionMs = long ? 10_000 : 6_000;
const hangMs = long ? 60_000 : 20_000;
const hourMs = 3_600_000;
const watchMs = long ? 60_000 : 10_000;
const members = 3;
const concurrency = 8;

const site = writeCrmSite({
  crms: {
    slow: { native_idempotency: true, timeout_ms: hangMs },
    daily: { native_idempotency: true, concurrency },
  },
  policies: { default: { attempts: 4, deadline: '4h', max_age: '7d' } },
});
const kafkaOf = (open: OpenStack) =>
  new Kafka({ brokers: open.endpoints().kafkaBrokers.split(','), clientId: 'several-writers', logLevel: logLevel.NOTHING }).admin();
let open: OpenStack;
let others: SecondWriter[] = [];
let otherPort: number;
let writer: InternalClient;
let kafka: ReturnType<typeof kafkaOf>;
let root: pg.Client;

beforeAll(async () => {
  const env = { SWEEP_MS: '1000', LEASE_MS: String(hangMs + 10_000), KAFKA_SESSION_TIMEOUT_MS: String(sessionMs) };
  open = await openStack({ config: site.file, env });
  otherPort = await freePortRange(members - 1);
  others = await Promise.all(
    [2, 3].map((nth) => startSecondWriter(open.stack, { config: site.file, env, port: otherPort + nth - 2, nth })),
  );
  writer = internalOf(open, 'crm-writer');
  kafka = kafkaOf(open);
  await kafka.connect();
  root = new pg.Client({ connectionString: open.endpoints().databaseUrl });
  await root.connect();
}, 200_000);

afterAll(async () => {
  await root?.end();
  await kafka?.disconnect();
  await writer?.close();
  await Promise.all(others.map((other) => other.stop()));
  await open?.close();
  site.remove();
}, closeMs);

const groupOf = (form: string): string => groups.crmWriter(`${form}-crm`);

/** Ids of the group's members: one that is lost comes back under another. */
async function membersOf(form: string): Promise<string[]> {
  const { groups: described } = await kafka.describeGroups([groupOf(form)]);
  return (described[0]?.members ?? []).map(({ memberId }) => memberId).sort();
}

async function inTier(form: string, tier: '15s' | '1m' | '5m'): Promise<number> {
  const ends = await kafka.fetchTopicOffsets(retryTopic(topics.leadAccepted, groupOf(form), tier));
  return ends.reduce((sum, { high }) => sum + Number(high), 0);
}

const inTiers = (form: string): Promise<number[]> => Promise.all((['15s', '1m', '5m'] as const).map((tier) => inTier(form, tier)));

/** The form's operations by how many calls they took. */
async function attempts(form: string): Promise<Record<string, number>> {
  const text = 'select attempts, count(*)::int as count from crm_writer.operation where destination = $1 group by attempts';
  const { rows } = await root.query<{ attempts: number; count: number }>(text, [`${form}-crm`]);
  return Object.fromEntries(rows.map(({ attempts: made, count }) => [made, count]));
}

it('case 7: a CRM that hangs for several sessions on one of twenty leads costs no member its place and holds up none of the others', async () => {
  const before = await eventually(async () => {
    const ids = await membersOf('slow');
    expect(ids).toHaveLength(members);
    return ids;
  }, 60_000);
  const crm = new CrmFigures(`${open.endpoints().sandboxCrm}-slow`);
  const leads = new FormLeads(open, 'slow');
  await leads.postMany(3);
  await eventually(async () => expect(await leads.states()).toEqual({ delivered: 3 }));
  await crm.rule({ name: 'hang', operation: 'lead', times: 1, hang: true });
  await leads.post();
  await eventually(async () => expect(await crm.hits('hang')).toBe(1));
  const hungAtMs = performance.now();
  await leads.postMany(16);

  await eventually(async () => expect((await leads.states()).delivered).toBe(19), 30_000);
  // All of that while the one call was open.
  expect(await crm.stats()).toMatchObject({ inFlight: 1, records: 20 });
  while (performance.now() - hungAtMs < hangMs) {
    expect(await membersOf('slow')).toEqual(before);
    await pause(500);
  }
  await eventually(async () => expect(await inTiers('slow')).toEqual([1, 0, 0]), 15_000);
  await eventually(async () => expect(await leads.states()).toEqual({ delivered: 20 }), 40_000);
  expect(await attempts('slow')).toEqual({ 1: 19, 2: 1 });
  expect(await crm.stats()).toMatchObject({ requests: 21, records: 20, duplicateEffects: 0 });
  expect(await membersOf('slow')).toEqual(before);
}, 300_000);

it('case 16: a CRM whose limit for the day is used up is left alone with an alarm, floods no tier, and gets every lead in the end', async () => {
  const crm = new CrmFigures(`${open.endpoints().sandboxCrm}-daily`);
  const leads = new FormLeads(open, 'daily');
  const body = { error: 'daily_limit' };
  await crm.rule({ name: 'daily', operation: 'lead', status: 429, headers: { 'Retry-After': String(8 * 3_600) }, body, latencyMs: 200 });
  await leads.postMany(200);

  const asked = await eventually(async () => {
    const { items } = await writer.post<DestinationsAnswer>('/internal/v1/destinations:state', {});
    const item = items.find(({ destination }) => destination === 'daily-crm');
    expect(item).toMatchObject({ mode: 'blocked', reason: 'throttled' });
    return Date.parse(item?.open_until ?? '') - Date.parse(item?.as_of ?? '');
  });
  // A destination is asked again after an hour at the latest, whatever it says.
  expect(asked).toBeGreaterThan(hourMs - 60_000);
  expect(asked).toBeLessThanOrEqual(hourMs + 1_000);
  await eventually(async () => expect(await alarms('daily-crm')).toEqual(Array.from({ length: members }, () => 1)));
  await eventually(async () => expect((await crm.stats()).inFlight).toBe(0));
  const refused = await crm.hits('daily');
  await pause(watchMs);
  expect(await crm.hits('daily')).toBe(refused);
  expect(refused).toBeLessThanOrEqual(members * concurrency);
  expect(await inTiers('daily')).toEqual([0, 0, 0]);
  expect(Object.keys(await attempts('daily'))).toEqual(['0']);

  await crm.heal('daily');
  await anHourPasses('daily-crm');
  await eventually(async () => expect(await leads.states()).toEqual({ delivered: 200 }), 120_000);
  expect(await attempts('daily')).toEqual({ 1: 200 });
  expect(await crm.stats()).toMatchObject({ records: 200, duplicateEffects: 0 });
  await eventually(async () => expect(await alarms('daily-crm')).toEqual(Array.from({ length: members }, () => 0)));
}, 300_000);

/** What each process says of the destination: 1 while only probes are sent. */
async function alarms(destination: string): Promise<number[]> {
  const pages = [String(open.endpoints().metrics['crm-writer']), ...[0, 1].map((at) => `http://127.0.0.1:${otherPort + at}/metrics`)];
  const texts = await Promise.all(pages.map(async (page) => (await fetch(page)).text()));
  return texts.map((text) =>
    Number(new RegExp(`^leads_circuit_open\\{destination="${destination}",reason="throttled"\\} (\\d)$`, 'm').exec(text)?.[1]),
  );
}

/** For this destination alone: what it asked for, and what each of its leads waits for, was so much earlier. */
async function anHourPasses(destination: string): Promise<void> {
  const hour = `interval '${hourMs + 60_000} milliseconds'`;
  const waits = `state = 'waiting' and next_attempt_at is not null`;
  await root.query(`update crm_writer.delivery set next_attempt_at = next_attempt_at - ${hour} where destination = $1 and ${waits}`, [
    destination,
  ]);
  await root.query(
    `update crm_writer.destination_state set open_until = open_until - ${hour}, version = version + 1 where destination = $1`,
    [destination],
  );
}
