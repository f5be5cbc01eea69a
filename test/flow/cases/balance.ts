import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import pg from 'pg';
import { headers, topics } from '#contracts';
import { runPaths } from '#testkit';
import { runBalance } from '../../support/balance.js';
import type { CommonStack } from '../../support/common-stack.js';
import { eventually } from '../../support/eventually.js';
import type { OpenStack } from '../../support/stack.js';
import { leadBody } from '../../support/traffic.js';

export function balanceCases(at: CommonStack): void {
  describe('the balance', () => {
    /** What is taken away here behind the services' backs: their own means would not lose it. */
    let stack: OpenStack;
    let root: pg.Client;

    beforeAll(async () => {
      stack = at.open;
      root = await connect();
      const { balance } = await take();
      expect(balance).toMatchObject({ balanced: true });
      before = { accepted: balance?.accepted ?? 0, delivered: balance?.found.delivered ?? 0 };
    });
    afterAll(async () => {
      await root?.end().catch(() => undefined);
    });

    async function connect(): Promise<pg.Client> {
      const client = new pg.Client({ connectionString: stack.endpoints().databaseUrl });
      client.on('error', () => undefined);
      await client.connect();
      return client;
    }
    const take = () => runBalance(stack.stack.runDir);
    /** What there is before the first case. */
    let before: { accepted: number; delivered: number };
    async function post(name: string, n: number): Promise<string> {
      const { status, body } = await stack.intake.post(leadBody(name, n));
      expect(status).toBe(202);
      return String(body.event_id);
    }
    /** Every accepted delivery has been delivered. */
    const allDelivered = (count: number, timeoutMs?: number) =>
      eventually(async () => {
        const { code, balance } = await take();
        expect(balance).toMatchObject({
          ...{ balanced: true, accepted: before.accepted + count },
          found: { delivered: before.delivered + count },
        });
        expect(code).toBe(0);
      }, timeoutMs);
    /** Intake's clock runs ahead, so that nobody has to wait until a lead counts as overdue. */
    const intakeRunsAhead = (by: string) =>
      root.query(
        `create or replace function intake.clock_now() returns timestamptz language sql volatile as $$select clock_timestamp() + interval '${by}'$$`,
      );
    const crmWriterHold = () => join(runPaths(stack.stack.runDir).hold, 'crm-writer');

    async function deleteRecords(topic: string): Promise<void> {
      const kafka = new Kafka({ brokers: stack.endpoints().kafkaBrokers.split(','), logLevel: logLevel.NOTHING });
      const admin = kafka.admin();
      await admin.connect();
      const ends = await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions: ends.map(({ partition, high }) => ({ partition, offset: high })) });
      await admin.disconnect();
    }

    describe('the balance of a running stack', () => {
      it('finds every delivery in one state', async () => {
        await post('balance-first', 0);
        await post('balance-second', 1);
        await allDelivered(4);
      }, 60_000);

      it('names a delivery that its owner has lost, and one that lost an operation, until they are back', async () => {
        const gone = await post('balance-gone', 2);
        const partial = await post('balance-partial', 3);
        await allDelivered(8);
        const known = () =>
          root.query(`select from intake.delivery where state = 'delivered' and event_id = any ($1::uuid[])`, [[gone, partial]]);
        await eventually(async () => expect((await known()).rowCount).toBe(4));
        await root.query('create temp table lost_delivery as select * from crm_writer.delivery where event_id = $1 and destination = $2', [
          gone,
          'sandbox-crm',
        ]);
        await root.query(
          `create temp table lost_operation as select * from crm_writer.operation
       where destination = 'sandbox-crm' and (event_id = $1 or (event_id = $2 and kind = 'lead'))`,
          [gone, partial],
        );
        await root.query(
          'delete from crm_writer.delivery d using lost_delivery l where d.event_id = l.event_id and d.destination = l.destination',
        );
        await root.query('delete from crm_writer.operation o using lost_operation l where o.operation_key = l.operation_key');
        const { code, balance } = await take();
        expect(code).toBe(1);
        expect(balance).toMatchObject({
          balanced: false,
          accepted: before.accepted + 8,
          found: { delivered: before.delivered + 6 },
          missing: [{ event_id: gone, destination: 'sandbox-crm' }],
          incomplete: [{ event_id: partial, destination: 'sandbox-crm' }],
        });
        await root.query('insert into crm_writer.delivery select * from lost_delivery');
        await root.query('insert into crm_writer.operation select * from lost_operation');
        await allDelivered(8);
      }, 60_000);

      it('is even again after an outbox row and a record were lost before their claim: both leads are announced again and delivered', async () => {
        await stack.stack.stopInfra('kafka');
        const unsent = await post('balance-unsent', 4);
        const taken = await root.query(`delete from intake.outbox where headers ->> '${headers.eventId}' = $1`, [unsent]);
        expect(taken.rowCount).toBe(1);
        await stack.stack.startInfra('kafka');

        writeFileSync(crmWriterHold(), '');
        await stack.stack.kill('crm-writer', 'SIGTERM');
        const unread = await post('balance-unread', 5);
        await eventually(async () => expect((await root.query('select from intake.outbox')).rowCount).toBe(0), 60_000);
        await deleteRecords(topics.leadAccepted);
        expect(await take()).toMatchObject({ code: 2, complaint: expect.stringContaining('no balance') });
        rmSync(crmWriterHold());
        await stack.stack.ready('crm-writer');
        expect(await take()).toMatchObject({ code: 0, balance: { accepted: before.accepted + 12, missing: [] } });

        await intakeRunsAhead('6 minutes');
        await allDelivered(12, 60_000);
        expect(await stack.sandbox.leads(unsent)).toHaveLength(1);
        expect(await stack.sandbox.leads(unread)).toHaveLength(1);
      }, 240_000);
    });
  });
}
