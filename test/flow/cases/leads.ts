import { randomBytes, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { CompressionTypes } from 'kafkajs';
import { scanStack } from '../../privacy/scan-stack.js';
import type { CommonStack } from '../../support/common-stack.js';
import { eventually } from '../../support/eventually.js';
import type { OpenStack } from '../../support/stack.js';
import { leadBody, submitted } from '../../support/traffic.js';

export function leadsCases(at: CommonStack): void {
  describe('leads through both doors', () => {
    /** One stack as `npm start` makes it, and leads through both of its doors. */
    let stack: OpenStack;

    beforeAll(() => {
      stack = at.open;
    });

    const delivered = (deliveries: unknown, destination: string): boolean =>
      (deliveries as { destination: string; state: string }[]).some((one) => one.destination === destination && one.state === 'delivered');

    async function told(leadRef: string): Promise<number> {
      return (await stack.sandbox.messages()).filter(({ text }) => text.includes(leadRef)).length;
    }

    describe('a lead posted over HTTP', () => {
      it('is in both CRMs and in the chat, and its status says so', async () => {
        const posted = await stack.intake.post(leadBody('flow-first', 0));
        expect(posted.status).toBe(202);
        expect(posted.body).toEqual({ event_id: expect.any(String), lead_ref: expect.any(String), status: 'accepted' });
        const { event_id, lead_ref } = posted.body as { event_id: string; lead_ref: string };
        expect(posted.headers.get('location')).toBe(`/v1/leads/${event_id}`);

        const status = await eventually(async () => {
          const { body } = await stack.intake.get(`/v1/leads/${event_id}`);
          expect(delivered(body.deliveries, 'sandbox-crm')).toBe(true);
          expect(delivered(body.deliveries, 'sandbox-marketing')).toBe(true);
          expect(body.notifications).toEqual([{ channel: 'sales', template: 'lead_delivered', state: 'succeeded' }]);
          return body;
        });
        expect(status).toMatchObject({ event_id, lead_ref, submitted_at: expect.any(String), accepted_at: expect.any(String) });
        const [record] = await stack.sandbox.leads(event_id);
        expect(record).toMatchObject({ external_id: event_id });
        expect(await told(lead_ref)).toBe(1);
        const bySource = await stack.intake.get('/v1/leads?source_event_id=flow-first');
        expect(bySource.body).toMatchObject({ event_id });
      }, 30_000);

      it('posted fifty times in parallel is one lead, one CRM record and one message', async () => {
        const answers = await Promise.all(Array.from({ length: 50 }, () => stack.intake.post(leadBody('flow-parallel', 1))));
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
        const ids = new Set(answers.map(({ body }) => body.event_id));
        expect(ids.size).toBe(1);
        expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'true')).toHaveLength(49);
        const [eventId] = [...ids] as [string];
        const leadRef = String(answers[0]?.body.lead_ref);
        await eventually(async () => expect(await told(leadRef)).toBe(1));
        expect(await stack.sandbox.leads(eventId)).toHaveLength(1);
        expect(await stack.sandbox.chatStats()).toMatchObject({ duplicates: 0 });
      }, 30_000);

      it('with the same key and other content is a named conflict', async () => {
        await stack.intake.post(leadBody('flow-conflict', 2));
        const conflict = await stack.intake.post(leadBody('flow-conflict', 3));
        expect(conflict.status).toBe(422);
        expect(String(conflict.body.type)).toContain('idempotency-conflict');
      });

      it('that no routing rule knows is accepted, dead with class routing, and told', async () => {
        const { body } = await stack.intake.post({ ...leadBody('flow-unrouted', 4), form: 'nobody-routes-this' });
        const status = await stack.intake.get(`/v1/leads/${String(body.event_id)}`);
        expect(status.body.deliveries).toEqual([expect.objectContaining({ destination: 'unrouted', state: 'dead', class: 'routing' })]);
        await eventually(async () => expect(await told(String(body.lead_ref))).toBe(1));
      }, 30_000);

      it('cannot be read with another key', async () => {
        const answer = await fetch(`${stack.endpoints().intake}/v1/leads?source_event_id=flow-first`, {
          headers: { authorization: 'Bearer wrong' },
        });
        expect(answer.status).toBe(401);
      });
    });

    describe('a lead produced to the topic leads', () => {
      it.each(['None', 'GZIP', 'Snappy', 'LZ4', 'ZSTD'] as const)(
        'in a %s batch reaches the CRM and the chat',
        async (codec) => {
          const sourceEventId = `flow-topic-${codec}`;
          await stack.upstream.send([{ sourceEventId, n: 5 }], CompressionTypes[codec]);
          const { body } = await eventually(async () => {
            const answer = await stack.intake.get(`/v1/leads?source_event_id=${sourceEventId}`);
            expect(answer.status).toBe(200);
            expect(delivered(answer.body.deliveries, 'sandbox-crm')).toBe(true);
            return answer;
          });
          await eventually(async () => expect(await told(String(body.lead_ref))).toBe(1));
        },
        30_000,
      );

      it('between records that nobody can read reaches the CRM, and each of those is kept with its reason', async () => {
        const unknownSchema = Buffer.alloc(9);
        unknownSchema.writeInt32BE(999_999, 1);
        await stack.upstream.sendRaw([
          { key: 'poison', value: Buffer.from([0]) },
          { key: 'poison', value: null },
          { key: null, value: Buffer.from('{"not":"avro"}') },
          { key: '', value: unknownSchema },
          { key: 'poison', value: stack.upstream.encode({ ...submitted('flow-poison-source', 0), source: 'nobody' }) },
          {
            key: 'poison',
            value: stack.upstream.encode({
              ...submitted('flow-poison-invalid', 0),
              contact: { name: null, email: 'no at sign', phone: null },
            }),
          },
          {
            key: 'poison',
            value: stack.upstream.encode(submitted('flow-behind-poison', 6)),
            headers: { traceparent: 'garbage', odd: randomBytes(8) },
          },
        ]);
        await eventually(async () => {
          const answer = await stack.intake.get('/v1/leads?source_event_id=flow-behind-poison');
          expect(delivered(answer.body.deliveries, 'sandbox-crm')).toBe(true);
        });
        const reasons = await eventually(async () => {
          const found = await stack.rejectedReasons();
          expect(found.length).toBeGreaterThanOrEqual(12);
          return found;
        });
        for (const reason of ['not_avro', 'tombstone', 'unknown_schema', 'unknown_source', 'invalid']) expect(reasons).toContain(reason);
      }, 30_000);
    });

    describe('one trace', () => {
      it('joins the HTTP request, the CRM call and the message over four services, and the sandbox saw it', async () => {
        const traceId = randomUUID().replaceAll('-', '');
        const { body } = await stack.intake.post(leadBody('flow-trace', 7), { traceparent: `00-${traceId}-00f067aa0ba902b7-01` });
        await eventually(async () => expect(await told(String(body.lead_ref))).toBe(1));
        const spans = await eventually(() => {
          const seen = stack.spans.trace(traceId);
          expect([...new Set(seen.map(({ service }) => service))].sort()).toEqual(['crm-writer', 'intake', 'notifier', 'sandbox']);
          expect(seen.filter(({ service }) => service === 'sandbox').length).toBeGreaterThanOrEqual(3);
          return seen;
        }, 30_000);
        const [record] = await stack.sandbox.leads(String(body.event_id));
        expect(String(record?.traceparent)).toContain(traceId);
        expect(
          spans.every((span) => span.parentSpanId === '00f067aa0ba902b7' || spans.some(({ spanId }) => spanId === span.parentSpanId)),
        ).toBe(true);
      }, 60_000);

      it('is kept apart for three leads produced in one batch, each over the four services', async () => {
        const traces = Array.from({ length: 3 }, () => randomUUID().replaceAll('-', ''));
        await stack.upstream.send(
          traces.map((traceId, at) => ({ sourceEventId: `flow-batch-${at}`, n: at, traceparent: `00-${traceId}-00f067aa0ba902b7-01` })),
        );
        for (const [at, traceId] of traces.entries()) {
          await eventually(async () => {
            const { body } = await stack.intake.get(`/v1/leads?source_event_id=flow-batch-${at}`);
            const [record] = await stack.sandbox.leads(String(body.event_id));
            expect(String(record?.traceparent)).toContain(traceId);
            expect(await told(String(body.lead_ref))).toBe(1);
            const services = new Set(stack.spans.trace(traceId).map(({ service }) => service));
            expect([...services].sort()).toEqual(['crm-writer', 'intake', 'notifier', 'sandbox']);
          }, 30_000);
        }
      }, 60_000);
    });

    it('turns the scan red for a planted value in one log line', async () => {
      await expect(stack.withPlantedLogLine(() => scanStack(stack.stack))).rejects.toThrow('planted.log');
    }, 120_000);
  });
}
