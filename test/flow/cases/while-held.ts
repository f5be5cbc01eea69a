import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { DestinationFiguresAnswer } from '#delivery';
import { type InternalClient, internalClient } from '#runtime';
import { runPaths } from '#testkit';
import { runBalance } from '../../support/balance.js';
import type { CommonStack } from '../../support/common-stack.js';
import { eventually } from '../../support/eventually.js';
import { OperatorClient } from '../../support/operator.js';
import type { OpenStack } from '../../support/stack.js';
import { leadBody } from '../../support/traffic.js';

export function whileHeldCases(at: CommonStack): void {
  describe('a stack whose destinations are held', () => {
    /** What becomes of leads whose destinations are held: no service has claimed them, and yet time and people's rights go on. */
    let stack: OpenStack;
    let root: pg.Client;
    let intake: InternalClient;
    let crmWriter: InternalClient;
    let operator: OperatorClient;
    const destinations = ['sandbox-crm', 'sandbox-marketing'];

    beforeAll(async () => {
      stack = at.open;
      operator = new OperatorClient(stack.endpoints(), join(stack.stack.runDir, 'logs', 'operator-bodies.jsonl'));
      const { databaseUrl, internal } = stack.endpoints();
      root = new pg.Client({ connectionString: databaseUrl });
      await root.connect();
      const tokens = JSON.parse(readFileSync(join(runPaths(stack.stack.runDir).secrets, 'internal-tokens.json'), 'utf8')) as {
        operator: string;
      };
      const client = (service: string) => internalClient({ baseUrl: internal[service] ?? '', token: tokens.operator, timeoutMs: 5_000 });
      [intake, crmWriter] = [client('intake'), client('crm-writer')];
      for (const destination of destinations) await command(destination, 'hold');
    }, 60_000);
    afterAll(async () => {
      await intake?.close();
      await crmWriter?.close();
      await root?.end();
    });

    async function command(destination: string, word: 'hold' | 'release'): Promise<void> {
      const answer = await crmWriter.post('/internal/v1/deliveries:command', { command: word, destination, by: 'ada', reason: 'test' });
      expect(answer).toMatchObject({ applied: true });
    }
    /** How many leads lie on the topic for each destination, as their service counts them. */
    async function unclaimed(): Promise<unknown[]> {
      const { items } = await crmWriter.post<DestinationFiguresAnswer>('/internal/v1/destinations:figures', {});
      return destinations.map((name) => items.find(({ destination }) => destination === name)?.unclaimed);
    }
    const lies = (count: number) => eventually(async () => expect(await unclaimed()).toMatchObject([{ count }, { count }]), 30_000);
    /** The tab of held leads lists what nobody took up, and in groups says how many that are. */
    async function isOnHeldTab(eventIds: string[]): Promise<void> {
      const { body: list } = await operator.ask<{ items: { event_id: string; destination: string }[] }>('viewer', 'dead-letters?tab=held');
      const named = list.items.map(({ event_id, destination }) => `${event_id} ${destination}`);
      expect(named.toSorted()).toEqual(eventIds.flatMap((id) => destinations.map((destination) => `${id} ${destination}`)).toSorted());
      const unclaimed = { count: eventIds.length };
      const blocked = destinations.map((destination) => ({ destination, mode: 'blocked', reason: 'hold', unclaimed }));
      for (const path of ['dead-letters?tab=held', 'dead-letters/groups?tab=held']) {
        expect((await operator.ask('viewer', path)).body).toMatchObject({ blocked });
      }
    }
    /** Every service's clock runs ahead. */
    async function passes(time: string): Promise<void> {
      for (const schema of ['intake', 'crm_writer']) {
        await root.query(
          `create or replace function ${schema}.clock_now() returns timestamptz language sql volatile as $$select clock_timestamp() + interval '${time}'$$`,
        );
      }
    }
    async function post(name: string, n: number): Promise<{ event_id: string; lead_ref: string }> {
      const { status, body } = await stack.intake.post(leadBody(name, n));
      expect(status).toBe(202);
      return body as { event_id: string; lead_ref: string };
    }
    async function statesOf(eventId: string): Promise<Record<string, string>> {
      const { body } = await stack.intake.get(`/v1/leads/${eventId}`);
      const deliveries = body.deliveries as { destination: string; state: string; code?: string }[];
      return Object.fromEntries(deliveries.map(({ destination, state, code }) => [destination, [state, code].filter(Boolean).join(' ')]));
    }
    const attemptsOf = async (eventId: string): Promise<number> =>
      (await root.query('select from crm_writer.attempt where operation_key like $1', [`${eventId}:%`])).rowCount ?? 0;

    describe('while its destinations are held', () => {
      it('a lead is counted as what it is, and ends expired at its deadline though nobody claimed it', async () => {
        const { event_id: eventId } = await post('held-expired', 0);
        await lies(1);
        await isOnHeldTab([eventId]);
        await passes('10 minutes');
        await eventually(async () => {
          const { code, balance } = await runBalance(stack.stack.runDir);
          expect({ code, balance }).toMatchObject({ code: 0, balance: { balanced: true, accepted: 2, missing: [] } });
        });
        await passes('4 hours 1 minute');
        await eventually(async () =>
          expect(await statesOf(eventId)).toEqual({ 'sandbox-crm': 'expired deadline', 'sandbox-marketing': 'expired deadline' }),
        );
        await lies(0);
        expect(await attemptsOf(eventId)).toBe(0);
        expect(await runBalance(stack.stack.runDir)).toMatchObject({ code: 0, balance: { found: { expired: 2 } } });
      }, 120_000);

      it('a lead whose consent is withdrawn goes only where none is needed, and one that is erased goes nowhere', async () => {
        await passes('0 seconds');
        const [withdrawn, erased] = [await post('held-withdrawn', 1), await post('held-erased', 2)];
        expect(await intake.post('/internal/v1/consent:withdraw', { event_id: withdrawn.event_id })).toMatchObject({ result: 'withdrawn' });
        const erase = () => intake.post('/internal/v1/leads:erase', { event_ids: [erased.event_id] });
        const nothing = { vault_revisions: 0, rejected_records: 0, search_keys: 0, pending_revisions: 0 };
        // Their announcements lie on the topic, with the key of the person.
        expect(await erase()).toEqual({ places: { ...nothing, unclaimed: 2 }, leads: [] });
        await lies(2);
        for (const destination of destinations) await command(destination, 'release');
        await eventually(async () => {
          expect(await statesOf(withdrawn.event_id)).toEqual({
            'sandbox-crm': 'delivered',
            'sandbox-marketing': 'discarded consent_withdrawn',
          });
          expect(await statesOf(erased.event_id)).toEqual({ 'sandbox-crm': 'erased erased', 'sandbox-marketing': 'erased erased' });
        }, 60_000);
        expect(await attemptsOf(erased.event_id)).toBe(0);
        await eventually(async () => expect(await erase()).toEqual({ places: { ...nothing, unclaimed: 0 }, leads: [] }), 30_000);
        const ofOwner = { items: [{ event_id: erased.event_id, whole_person: true }] };
        expect(await crmWriter.post('/internal/v1/leads:erase', ofOwner)).toEqual({
          places: { open: 0, unfinished: 0, person_keys: 0, contacts: 0 },
          references: [],
        });
        expect(await stack.sandbox.leads(erased.event_id)).toEqual([]);
        expect(await stack.sandbox.leads(withdrawn.event_id)).toHaveLength(1);
        const { code, balance } = await runBalance(stack.stack.runDir);
        expect({ code, balance }).toMatchObject({ code: 0, balance: { found: { expired: 2, delivered: 1, discarded: 1, erased: 2 } } });
      }, 120_000);
    });
  });
}
