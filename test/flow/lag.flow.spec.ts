import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { kafkaToolLag } from '#testkit';
import { eventually } from '../support/eventually.js';
import { type OpenStack, openStack } from '../support/stack.js';

/** The exported consumer lag equals what Kafka's own tool says, and a consumer that stands still with lag is seen. */
let stack: OpenStack;

beforeAll(async () => {
  stack = await openStack();
}, 120_000);

afterAll(async () => {
  await stack?.close();
}, 60_000);

type Lags = Record<string, number>;

/** `group/topic/partition` → lag, from the reconciler's metrics page. */
async function exportedLag(): Promise<Lags> {
  const page = await (await fetch(String(stack.endpoints().metrics.reconciler))).text();
  const lags: Lags = {};
  for (const [, labels = '', value] of page.matchAll(/^kafka_consumergroup_lag\{(.*)\} (\S+)$/gm)) {
    const label = (name: string): string => new RegExp(`${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
    lags[`${label('consumergroup')}/${label('topic')}/${label('partition')}`] = Number(value);
  }
  return lags;
}

async function sameAsKafkaSays(): Promise<Lags> {
  return eventually(async () => {
    const [ours, theirs] = [await exportedLag(), await kafkaToolLag(stack.stack)];
    expect(Object.keys(theirs).length).toBeGreaterThan(0);
    expect(ours).toEqual(theirs);
    return ours;
  }, 90_000);
}

const total = (lags: Lags, group: string, topic = 'lead.accepted'): number =>
  Object.entries(lags)
    .filter(([key]) => key.startsWith(`${group}/${topic}/`))
    .reduce((sum, [, lag]) => sum + lag, 0);

it('equals Kafka’s own tool when idle, behind a paused destination, and after one of two has caught up', async () => {
  const idle = await sameAsKafkaSays();
  expect(total(idle, 'crm-writer.sandbox-crm')).toBe(0);

  await stack.sandbox.control({ status: 503 });
  await stack.sandbox.controlMarketing({ status: 503 });
  await stack.upstream.send(Array.from({ length: 500 }, (_, n) => ({ sourceEventId: `lag-${n}`, n })));
  await eventually(async () => expect((await stack.intake.get('/v1/leads?source_event_id=lag-499')).status).toBe(200), 30_000);
  const behind = await eventually(async () => {
    const lags = await sameAsKafkaSays();
    expect(total(lags, 'crm-writer.sandbox-crm')).toBeGreaterThan(0);
    expect(total(lags, 'crm-writer.sandbox-marketing')).toBeGreaterThan(0);
    return lags;
  }, 60_000);
  expect(total(behind, 'crm-writer.sandbox-crm')).toBeLessThanOrEqual(500);

  await stack.sandbox.clearRules();
  await eventually(async () => expect((await stack.sandbox.crmStats()).records).toBe(500), 90_000);
  const caughtUp = await eventually(async () => {
    const lags = await sameAsKafkaSays();
    expect(total(lags, 'crm-writer.sandbox-crm')).toBe(0);
    return lags;
  }, 60_000);
  expect(total(caughtUp, 'crm-writer.sandbox-marketing')).toBeGreaterThan(0);
  await stack.sandbox.clearMarketingRules();
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
