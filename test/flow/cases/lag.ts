import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { DestinationsAnswer } from '#delivery';
import type { InternalClient } from '#runtime';
import { kafkaToolLag, testSize } from '#testkit';
import type { CommonStack } from '../../support/common-stack.js';
import { eventually } from '../../support/eventually.js';
import { internalOf } from '../../support/form-leads.js';
import type { OpenStack } from '../../support/stack.js';

export function lagCases(at: CommonStack): void {
  describe('consumer lag', () => {
    /** The exported consumer lag equals what Kafka's own tool says, and a consumer that stands still with lag is seen. */
    const leads = testSize() === 'long' ? 500 : 200;
    let stack: OpenStack;
    let crmWriter: InternalClient;

    beforeAll(() => {
      stack = at.open;
      crmWriter = internalOf(stack, 'crm-writer');
    });

    afterAll(async () => {
      await crmWriter?.close();
    });

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
      return Math.max(
        ...samples.flatMap(({ labels, value }) => (labels.group === group && labels.topic === 'lead.accepted' ? [value] : [])),
      );
    }

    async function command(word: 'hold' | 'release', reason: string): Promise<void> {
      const answer = await crmWriter.post('/internal/v1/deliveries:command', {
        command: word,
        destination: 'sandbox-crm',
        by: 'ada',
        reason,
      });
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
      const waiting = (wanted: [number, number]) =>
        eventually(async () => {
          const lags = await exportedLag();
          expect([total(lags, held), total(lags, other)]).toEqual(wanted);
        }, 90_000);
      await waiting([0, 0]);
      const idle = await sameAsKafkaSays();
      expect([total(idle, held), total(idle, other)]).toEqual([0, 0]);
      const before = await stack.sandbox.crmStats();
      const { delivered = 0, ...ended } = await deliveries('sandbox-marketing');

      await command('hold', 'the CRM is being moved');
      const sentAfter = Date.now();
      await stack.upstream.send(Array.from({ length: leads }, (_, n) => ({ sourceEventId: `lag-${n}`, n })));
      await waiting([leads, 0]);
      const behind = await sameAsKafkaSays();
      expect([total(behind, held), total(behind, other)]).toEqual([leads, 0]);
      // No part of it was put aside on the retry tiers, where it would count as younger than it is.
      expect(Object.entries(behind).filter(([key, lag]) => lag > 0 && key.startsWith(`${held}/lead.accepted.`))).toEqual([]);
      await eventually(
        async () => expect(await deliveries('sandbox-marketing')).toEqual({ ...ended, delivered: delivered + leads }),
        90_000,
      );
      expect((await stack.sandbox.crmStats()).requests).toBe(before.requests);

      const holds = await samplesOf('crm-writer', 'leads_destination_held');
      const isHeld = Object.fromEntries(holds.map(({ labels, value }) => [labels.destination, value]));
      expect(isHeld).toMatchObject({ 'sandbox-crm': 1, 'sandbox-marketing': 0 });
      const { items } = await crmWriter.post<DestinationsAnswer>('/internal/v1/destinations:state', {});
      expect(items.find(({ destination }) => destination === 'sandbox-crm')).toMatchObject({
        ...{ mode: 'blocked', reason: 'hold', hold: { by: 'ada', reason: 'the CRM is being moved' } },
      });
      const age = await oldestAge(held);
      // Counted from what waits, not from anything before it; and older the longer it waits.
      expect(Date.now() - age * 1_000).toBeGreaterThanOrEqual(sentAfter);
      await eventually(async () => expect(await oldestAge(held)).toBeGreaterThan(age + 1), 60_000);
      expect(await oldestAge(other)).toBe(0);
      expect((await stack.sandbox.crmStats()).requests).toBe(before.requests);

      await command('release', 'the CRM has been moved');
      const records = before.records + leads;
      await eventually(async () => expect(await stack.sandbox.crmStats()).toMatchObject({ records, duplicateEffects: 0 }), 90_000);
      await waiting([0, 0]);
      const over = await sameAsKafkaSays();
      expect([total(over, held), total(over, other)]).toEqual([0, 0]);
      await eventually(async () => expect(await oldestAge(held)).toBe(0), 30_000);
    }, 400_000);

    it('a consumer that stands still with lag turns ready red, and green again', async () => {
      const frozen = ['consumer crm-writer.sandbox-crm', 'consumer crm-writer.sandbox-marketing'];
      const readiness = async (): Promise<{ status: number; red: string[] }> => {
        const answer = await fetch(`${stack.endpoints().internal['crm-writer']}/health/ready`);
        const { checks } = (await answer.json()) as { checks: { name: string; ok: boolean; detail?: string }[] };
        return { status: answer.status, red: checks.filter(({ ok }) => !ok).map(({ name }) => name) };
      };
      await eventually(async () => expect(await readiness()).toEqual({ status: 200, red: [] }), 60_000);
      const client = new pg.Client({ connectionString: stack.endpoints().databaseUrl });
      await client.connect();
      await client.query('begin');
      await client.query('lock table crm_writer.delivery in access exclusive mode');
      await stack.upstream.send(Array.from({ length: 20 }, (_, n) => ({ sourceEventId: `frozen-${n}`, n })));
      // Whatever else asks the same table waits as well, so the database may be named beside them.
      await eventually(async () => expect(await readiness()).toEqual({ status: 503, red: expect.arrayContaining(frozen) }), 60_000);
      await client.query('rollback');
      await client.end();
      await eventually(async () => expect(await readiness()).toEqual({ status: 200, red: [] }), 60_000);
      await eventually(async () => {
        const { body } = await stack.intake.get('/v1/leads?source_event_id=frozen-19');
        expect(body.deliveries).toContainEqual(expect.objectContaining({ destination: 'sandbox-crm', state: 'delivered' }));
      }, 60_000);
    }, 200_000);
  });
}
