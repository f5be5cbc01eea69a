import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { person } from '../../privacy/planted.js';
import type { CommonStack } from '../../support/common-stack.js';
import { eventually } from '../../support/eventually.js';
import { OperatorClient } from '../../support/operator.js';
import type { OpenStack } from '../../support/stack.js';
import { leadBody } from '../../support/traffic.js';

export function subjectsCases(at: CommonStack): void {
  describe('the data of a person', () => {
    interface Delivery {
      destination: string;
      state: string;
      code?: string;
      generation: number;
    }

    interface Correction {
      correction_id: string;
      state: string;
      hash: string;
      fields: string[];
      operations: { kind: string; step: string; found: boolean; ref?: string }[];
    }

    interface Erasure {
      erasure_id: string;
      state: string;
      hash: string;
      leads: { event_id: string }[];
      places: { place: string; before: number; after: number | null; done: boolean }[];
      tasks: { task_id: string; destination: string; kind: string; ref: string; done: boolean }[];
    }

    /** What people do about a person's data, over everything that keeps some of it. */
    let stack: OpenStack;
    let operator: OperatorClient;
    let database: pg.Client;

    beforeAll(async () => {
      stack = at.open;
      operator = new OperatorClient(stack.endpoints(), join(stack.stack.runDir, 'logs', 'operator-bodies.jsonl'));
      database = new pg.Client({ connectionString: stack.endpoints().databaseUrl });
      await database.connect();
    });
    afterAll(async () => {
      await database?.end();
    });
    afterEach(async () => {
      await stack.sandbox.clearRules();
      await stack.sandbox.clearMarketingRules();
    });

    async function submit(sourceEventId: string, n: number): Promise<string> {
      const { status, body } = await stack.intake.post(leadBody(sourceEventId, n));
      expect(status).toBe(202);
      return String(body.event_id);
    }
    async function deliveryOf(eventId: string, destination = 'sandbox-crm'): Promise<Delivery | undefined> {
      const { body } = await operator.ask<{ deliveries?: Delivery[] }>('viewer', `leads/${eventId}`);
      return body.deliveries?.find((one) => one.destination === destination);
    }
    const becomes = (eventId: string, state: string, destination?: string) =>
      eventually(async () => expect((await deliveryOf(eventId, destination))?.state).toBe(state), 90_000);
    const records = async (kind: 'leads' | 'contacts', eventId: string) => {
      const answer = await fetch(`${stack.endpoints().sandboxCrm}/data`);
      const data = (await answer.json()) as Record<string, Record<string, unknown>[]>;
      const { lead_ref } = (await operator.ask<{ lead_ref: string }>('viewer', `leads/${eventId}`)).body;
      return (data[kind] ?? []).filter((record) => record.lead_ref === lead_ref);
    };
    const typeOf = ({ status, body }: { status: number; body: unknown }) => [
      status,
      String((body as { type?: string }).type)
        .split(':')
        .at(-1),
    ];
    const count = async (text: string, eventId: string) => Number((await database.query(text, [eventId])).rows[0].count);

    describe('a lead whose first write silently succeeded', () => {
      it('is corrected: one record at the CRM, with the corrected person, approved by somebody else', async () => {
        await stack.sandbox.control({ operation: 'lead', status: 422, dropCommit: false });
        const eventId = await submit('correct-1', 0);
        await becomes(eventId, 'dead');
        await stack.sandbox.clearRules();
        expect(await records('leads', eventId)).toHaveLength(1);

        const wish = { event_id: eventId, destination: 'sandbox-crm', changes: { name: person(7).name }, reason: 'the name was misspelt' };
        expect(typeOf(await operator.ask('viewer', 'corrections', wish))).toEqual([403, 'forbidden']);
        expect(typeOf(await operator.ask('admin', 'corrections', { ...wish, changes: { message: 'something else' } }))).toEqual([
          409,
          'cannot-change',
        ]);
        expect(typeOf(await operator.ask('admin', 'corrections', { ...wish, changes: { email: 'no address' } }))).toEqual([422, 'invalid']);
        const drafted = await operator.ask<Correction>('admin', 'corrections', wish);
        expect(drafted).toMatchObject({
          status: 201,
          body: {
            state: 'draft',
            fields: ['name'],
            operations: [
              { kind: 'contact', step: 'change', found: false },
              { kind: 'lead', step: 'keep', found: true },
            ],
          },
        });
        const { correction_id: id, hash } = drafted.body;
        expect(typeOf(await operator.ask('admin', 'corrections', wish))).toEqual([409, 'correction-open']);
        const approve = (role: 'admin' | 'operator' | 'approver', of = hash) =>
          operator.ask<Correction>(role, `corrections/${id}/approve`, { hash: of });
        expect(typeOf(await approve('operator'))).toEqual([403, 'forbidden']);
        expect(typeOf(await approve('admin'))).toEqual([409, 'self-approval']);
        expect(typeOf(await approve('approver', '0'.repeat(64)))).toEqual([409, 'stale-hash']);
        expect(await approve('approver')).toMatchObject({ status: 200, body: { state: 'approved' } });
        expect(typeOf(await approve('approver'))).toEqual([409, 'correction-not-a-draft']);

        await eventually(async () => {
          const { body } = await operator.ask<Correction>('viewer', `corrections/${id}`);
          expect(body.state).toBe('done');
        }, 90_000);
        expect(await records('leads', eventId)).toHaveLength(1);
        const contacts = await records('contacts', eventId);
        expect(contacts).toHaveLength(1);
        expect(contacts[0]?.name).toBe(person(7).name);
        expect((await stack.sandbox.crmStats()).duplicateEffects).toBe(0);
        expect(await deliveryOf(eventId)).toMatchObject({ state: 'delivered', generation: 2 });
        const { body } = await operator.ask<{ fields: { name: string } }>(
          'admin',
          `leads/${eventId}/reveal`,
          { reason: 'looked after the correction' },
          { unseen: true },
        );
        expect(body.fields.name).toBe(person(7).name);

        // The other destination still has what the lead said before, until it is corrected there too: the lead itself has no further revision.
        const there = await operator.ask<Correction>('admin', 'corrections', { ...wish, destination: 'sandbox-marketing' });
        expect(there).toMatchObject({
          status: 201,
          body: { revision: 2, operations: [{ kind: 'contact', step: 'change', found: false }] },
        });
        const also = there.body;
        expect((await operator.ask('approver', `corrections/${also.correction_id}/approve`, { hash: also.hash })).status).toBe(200);
        await eventually(async () => {
          expect((await operator.ask<Correction>('viewer', `corrections/${also.correction_id}`)).body.state).toBe('done');
        }, 90_000);
        expect(await count('select count(*) from intake.vault v join intake.lead l using (lead_ref) where event_id = $1', eventId)).toBe(2);
        expect(await count('select count(*) from intake.pending_revision where $1::text is not null', eventId)).toBe(0);
      }, 240_000);
    });

    describe('a lead that was refused for what it says', () => {
      it('is corrected under its own keys, as there was nothing to change', async () => {
        await stack.sandbox.control({ operation: 'lead', status: 422 });
        const eventId = await submit('correct-2', 1);
        await becomes(eventId, 'dead');
        await stack.sandbox.clearRules();
        const wish = {
          event_id: eventId,
          destination: 'sandbox-crm',
          changes: { message: 'please ring at nine' },
          reason: 'the message was cut',
        };
        const { body } = await operator.ask<Correction>('operator', 'corrections', wish);
        expect(body.operations).toMatchObject([
          { kind: 'contact', step: 'keep' },
          { kind: 'lead', step: 'create' },
        ]);
        expect((await operator.ask('approver', `corrections/${body.correction_id}/approve`, { hash: body.hash })).status).toBe(200);
        await becomes(eventId, 'delivered');
        expect(await records('leads', eventId)).toMatchObject([{ message: 'please ring at nine' }]);
        expect(await deliveryOf(eventId)).toMatchObject({ generation: 1 });
      }, 240_000);
    });

    describe('a person who is erased while a lead is in flight', () => {
      it('is gone from every place, nothing more is sent, and the records at destinations become tasks', async () => {
        const before = await submit('erase-1', 2);
        await becomes(before, 'delivered');
        await stack.sandbox.control({ operation: 'lead', hang: true });
        const open = await submit('erase-2', 2);
        await eventually(async () => expect((await stack.sandbox.crmStats()).inFlight).toBeGreaterThan(0), 30_000);

        const wish = { email: ` ${person(2).email.toUpperCase()}`, reason: 'asked by letter' };
        expect(typeOf(await operator.ask('viewer', 'erasures', wish))).toEqual([403, 'forbidden']);
        expect(typeOf(await operator.ask('admin', 'erasures', { ...wish, reason: `for ${person(2).email}` }))).toEqual([422, 'invalid']);
        expect(typeOf(await operator.ask('admin', 'erasures', { ...wish, email: 'nobody@example.test' }))).toEqual([404, 'not-found']);
        const drafted = await operator.ask<Erasure>('admin', 'erasures', wish);
        expect(drafted.status).toBe(201);
        expect(drafted.body.leads.map(({ event_id }) => event_id).sort()).toEqual([before, open].sort());
        expect(drafted.body.places).toContainEqual({ place: 'intake vault_revisions', before: 2, after: null, done: false });
        const { erasure_id: id } = drafted.body;
        // A lead in flight may have ended since, with a record that the draft did not list: whoever approves looks again.
        const approve = async (role: 'admin' | 'operator' | 'approver', of?: string) => {
          const { hash } = (await operator.ask<Erasure>('viewer', `erasures/${id}`)).body;
          return operator.ask<Erasure>(role, `erasures/${id}/approve`, { hash: of ?? hash });
        };
        expect(typeOf(await approve('operator'))).toEqual([403, 'forbidden']);
        expect(typeOf(await approve('admin'))).toEqual([409, 'self-approval']);
        expect(typeOf(await approve('approver', '0'.repeat(64)))).toEqual([409, 'stale-hash']);
        await eventually(async () => expect((await approve('approver')).status).toBe(200), 60_000);
        expect(typeOf(await approve('approver'))[0]).toBe(409);

        const erased = await eventually(async () => {
          const { body } = await operator.ask<Erasure>('viewer', `erasures/${id}`);
          expect(body.state).toBe('tasks');
          return body;
        }, 120_000);
        expect(erased.places.every(({ after, done }) => after === 0 && done)).toBe(true);
        expect(await deliveryOf(open)).toMatchObject({ state: 'erased' });
        expect(await deliveryOf(before)).toMatchObject({ state: 'delivered' });
        const refs = erased.tasks.filter(({ destination }) => destination === 'sandbox-crm').map(({ kind, ref }) => `${kind} ${ref}`);
        expect(refs).toContain(`lead external_id:${open}`);
        expect(refs.filter((ref) => /^(contact|lead) (contact|lead)_/.test(ref)).length).toBeGreaterThanOrEqual(2);
        for (const { task_id } of erased.tasks)
          expect((await operator.ask('operator', `erasures/${id}/tasks/${task_id}/done`, {})).status).toBe(200);
        expect((await operator.ask<Erasure>('viewer', `erasures/${id}`)).body.state).toBe('complete');
        expect(JSON.stringify((await database.query('select * from operator.erasure')).rows)).not.toContain('@');
      }, 300_000);

      it('does not come back with a late repeat on the topic', async () => {
        const { rows } = await database.query('select count(*) from intake.lead');
        await stack.upstream.send([
          { sourceEventId: 'erase-1', n: 2 },
          { sourceEventId: 'erase-2', n: 2, overrides: { message: 'other' } },
          { sourceEventId: 'after-1', n: 3 },
        ]);
        await eventually(async () => {
          const { body } = await stack.intake.get('/v1/leads?source_event_id=after-1');
          expect(body.event_id).toBeDefined();
        }, 60_000);
        expect((await database.query('select count(*) from intake.lead')).rows[0].count).toBe(String(Number(rows[0].count) + 1));
        const { status, body } = await operator.ask('admin', 'erasures', { email: person(2).email, reason: 'to be sure' });
        expect([status, body.type]).toEqual([404, expect.stringContaining('not-found')]);
        expect(await stack.rejectedReasons()).not.toContain('conflict');
      }, 120_000);
    });

    describe('consent withdrawn by the source', () => {
      it('stops what waits for a destination that requires it, and leaves the other alone', async () => {
        await stack.sandbox.controlMarketing({ status: 503 });
        const eventId = await submit('consent-1', 4);
        await becomes(eventId, 'delivered');
        await becomes(eventId, 'waiting', 'sandbox-marketing');
        const { intake, sourceKey } = stack.endpoints();
        const answer = await fetch(`${intake}/v1/leads/${eventId}/consent`, {
          method: 'POST',
          headers: { authorization: `Bearer ${sourceKey}`, 'content-type': 'application/json' },
          body: '{"given":false}',
        });
        expect(answer.status).toBe(200);
        await stack.sandbox.clearMarketingRules();
        await becomes(eventId, 'discarded', 'sandbox-marketing');
        expect(await deliveryOf(eventId, 'sandbox-marketing')).toMatchObject({ code: 'consent_withdrawn' });
        const wish = { event_id: eventId, destination: 'sandbox-marketing', changes: { name: person(5).name }, reason: 'after all' };
        expect(typeOf(await operator.ask('operator', 'corrections', wish))).toEqual([
          409,
          expect.stringMatching(/delivery-ended|consent-withdrawn/),
        ]);
      }, 240_000);

      it('means the same when it comes with the lead once more on the topic', async () => {
        await stack.sandbox.controlMarketing({ status: 503 });
        const lead = { sourceEventId: 'consent-2', n: 6 };
        await stack.upstream.send([lead]);
        const eventId = await eventually(async () => {
          const { body } = await stack.intake.get(`/v1/leads?source_event_id=${lead.sourceEventId}`);
          expect(body.event_id).toBeDefined();
          return String(body.event_id);
        }, 60_000);
        await becomes(eventId, 'delivered');
        await becomes(eventId, 'waiting', 'sandbox-marketing');
        await stack.upstream.send([{ ...lead, overrides: { consent: { given: false, at: null } } }]);
        await eventually(async () => {
          const { body } = await operator.ask<{ vault: { consent_withdrawn_at: string | null } }>('viewer', `leads/${eventId}`);
          expect(body.vault.consent_withdrawn_at).not.toBeNull();
        }, 60_000);
        await stack.sandbox.clearMarketingRules();
        await becomes(eventId, 'discarded', 'sandbox-marketing');
        expect(await deliveryOf(eventId, 'sandbox-marketing')).toMatchObject({ code: 'consent_withdrawn' });
        expect(await deliveryOf(eventId)).toMatchObject({ state: 'delivered' });
        expect(await records('leads', eventId)).toHaveLength(1);
        // It is that lead's word about consent, and neither another lead nor a conflict with the first.
        expect(await stack.rejectedReasons()).not.toContain('conflict');
        expect((await database.query(`select from intake.lead where source = 'website' and event_id = $1`, [eventId])).rowCount).toBe(1);
        const wish = { event_id: eventId, destination: 'sandbox-marketing', changes: { name: person(5).name }, reason: 'after all' };
        expect(typeOf(await operator.ask('operator', 'corrections', wish))).toEqual([
          409,
          expect.stringMatching(/delivery-ended|consent-withdrawn/),
        ]);
      }, 240_000);
    });
  });
}
