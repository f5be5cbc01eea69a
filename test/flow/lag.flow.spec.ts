import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import type { DestinationsAnswer } from '#delivery';
import type { InternalClient } from '#runtime';
import { kafkaToolLag } from '#testkit';
import { eventually } from '../support/eventually.js';
import { internalOf } from '../support/form-leads.js';
import { type OpenStack, openStack } from '../support/stack.js';

/** The exported consumer lag equals what Kafka's own tool says, and a consumer that stands still with lag is seen. */
let stack: OpenStack;
let crmWriter: InternalClient;

beforeAll(async () => {
  stack = await openStack();
  crmWriter = internalOf(stack, 'crm-writer');
}, 120_000);

afterAll(async () => {
  await crmWriter?.close();
  await stack?.close();
}, 60_000);

type Lags = Record<string, number>;

interface Sample {
  labels: Record<string, string>;
  value: number;
}

/** Samples of one metric of a service. */
async function samplesOf(service: string, metric: string): Promise<Sample[]> {
  const page = await (await fetch(String(stack.endpoints().metrics[service]))).text();
  return [...page.matchAll(new RegExp(`^${metric}\\{(.*)\\} (\\S+)$`, 'gm'))].map(([, labels = '', value]) => ({
    labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, text]) => [name, text])),
    value: Number(value),
  }));
}

/** `group/topic/partition` → lag, from the reconciler's metrics page. */
async function exportedLag(): Promise<Lags> {
  const samples = await samplesOf('reconciler', 'kafka_consumergroup_lag');
  return Object.fromEntries(samples.map(({ labels, value }) => [`${labels.consumergroup}/${labels.topic}/${labels.partition}`, value]));
}

async function sameAsKafkaSays(): Promise<Lags> {
  return eventually(async () => {
    const [ours, theirs] = [await exportedLag(), await kafkaToolLag(stack.stack)];
    expect(Object.keys(theirs).length).toBeGreaterThan(0);
    expect(ours).toEqual(theirs);
    return ours;
  }, 90_000);
}

/** Seconds that the oldest record of `lead.accepted` which the group has not settled has waited; 0 where none waits. */
async function oldestAge(group: string): Promise<number> {
  const samples = await samplesOf('reconciler', 'kafka_consumergroup_group_lag_seconds');
  return Math.max(...samples.flatMap(({ labels, value }) => (labels.group === group && labels.topic === 'lead.accepted' ? [value] : [])));
}

async function command(word: 'hold' | 'release', reason: string): Promise<void> {
  const answer = await crmWriter.post('/internal/v1/deliveries:command', { command: word, destination: 'sandbox-crm', by: 'ada', reason });
  expect(answer).toMatchObject({ applied: true });
}

/** Deliveries that crm-writer has claimed, by state. */
async function deliveries(destination: string): Promise<Record<string, number>> {
  const client = new pg.Client({ connectionString: stack.endpoints().databaseUrl });
  await client.connect();
  const text = 'select state, count(*)::int as count from crm_writer.delivery where destination = $1 group by state';
  const { rows } = await client.query<{ state: string; count: number }>(text, [destination]);
  await client.end();
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

const total = (lags: Lags, group: string, topic = 'lead.accepted'): number =>
  Object.entries(lags)
    .filter(([key]) => key.startsWith(`${group}/${topic}/`))
    .reduce((sum, [, lag]) => sum + lag, 0);

it('shows depth and age of what waits for a held destination, as Kafka’s own tool counts it, and lets it catch up once released', async () => {
  const [held, other] = ['crm-writer.sandbox-crm', 'crm-writer.sandbox-marketing'];
  const idle = await sameAsKafkaSays();
  expect([total(idle, held), total(idle, other)]).toEqual([0, 0]);

  await command('hold', 'the CRM is being moved');
  const since = performance.now();
  await stack.upstream.send(Array.from({ length: 500 }, (_, n) => ({ sourceEventId: `lag-${n}`, n })));
  const behind = await eventually(async () => {
    const lags = await sameAsKafkaSays();
    expect([total(lags, held), total(lags, other)]).toEqual([500, 0]);
    return lags;
  }, 90_000);
  // No part of it was put aside on the retry tiers, where it would count as younger than it is.
  expect(Object.entries(behind).filter(([key, lag]) => lag > 0 && key.startsWith(`${held}/lead.accepted.`))).toEqual([]);
  await eventually(async () => expect(await deliveries('sandbox-marketing')).toEqual({ delivered: 500 }), 90_000);
  expect(await stack.sandbox.crmStats()).toMatchObject({ requests: 0 });

  const holds = await samplesOf('crm-writer', 'leads_destination_held');
  const isHeld = Object.fromEntries(holds.map(({ labels, value }) => [labels.destination, value]));
  expect(isHeld).toMatchObject({ 'sandbox-crm': 1, 'sandbox-marketing': 0 });
  const { items } = await crmWriter.post<DestinationsAnswer>('/internal/v1/destinations:state', {});
  expect(items.find(({ destination }) => destination === 'sandbox-crm')).toMatchObject({
    ...{ mode: 'blocked', reason: 'hold', hold: { by: 'ada', reason: 'the CRM is being moved' } },
  });
  const [age, readAt] = [await oldestAge(held), performance.now()];
  expect(age).toBeLessThanOrEqual((readAt - since) / 1_000 + 1);
  // As old as what waits, and older the longer it does.
  await eventually(async () => expect(await oldestAge(held)).toBeGreaterThan(age + 5), 60_000);
  expect(await oldestAge(other)).toBe(0);
  expect(await stack.sandbox.crmStats()).toMatchObject({ requests: 0 });

  await command('release', 'the CRM has been moved');
  await eventually(async () => expect(await stack.sandbox.crmStats()).toMatchObject({ records: 500, duplicateEffects: 0 }), 90_000);
  await eventually(async () => {
    const lags = await sameAsKafkaSays();
    expect([total(lags, held), total(lags, other)]).toEqual([0, 0]);
  }, 60_000);
  await eventually(async () => expect(await oldestAge(held)).toBe(0), 30_000);
}, 400_000);

it('a consumer that stands still with lag turns ready red, and green again', async () => {
  const ready = async (): Promise<number> => (await fetch(`${stack.endpoints().internal['crm-writer']}/health/ready`)).status;
  await eventually(async () => expect(await ready()).toBe(200), 60_000);
  const client = new pg.Client({ connectionString: stack.endpoints().databaseUrl });
  await client.connect();
  await client.query('begin');
  await client.query('lock table crm_writer.delivery in access exclusive mode');
  await stack.upstream.send(Array.from({ length: 20 }, (_, n) => ({ sourceEventId: `frozen-${n}`, n })));
  await eventually(async () => expect(await ready()).toBe(503), 40_000);
  await client.query('rollback');
  await client.end();
  await eventually(async () => expect(await ready()).toBe(200), 60_000);
  await eventually(async () => {
    const { body } = await stack.intake.get('/v1/leads?source_event_id=frozen-19');
    expect(body.deliveries).toContainEqual(expect.objectContaining({ destination: 'sandbox-crm', state: 'delivered' }));
  }, 60_000);
}, 200_000);
