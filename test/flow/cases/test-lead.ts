import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { projectRoot } from '#testkit';
import type { CommonStack } from '../../support/common-stack.js';
import { eventually } from '../../support/eventually.js';
import { OperatorClient } from '../../support/operator.js';
import type { OpenStack } from '../../support/stack.js';
import { leadBody } from '../../support/traffic.js';

const managersChat = '-1003';

/** The demo's, with a chat in which real managers are. They are told of who wants to be called. */
export function siteWithManagers(): string {
  const site = parse(readFileSync(join(projectRoot(), 'config/demo.yaml'), 'utf8')) as {
    routing: { match: { form?: string }; chat?: string }[];
    channels: Record<string, Record<string, unknown>>;
  };
  site.channels.managers = { ...site.channels.sales, chat_id: managersChat, sandbox: false };
  for (const rule of site.routing) if (rule.match.form === 'callback') rule.chat = 'managers';
  return stringify(site);
}

/** Whether a lead gets through, as whoever is on call tries it. Its stack runs with `siteWithManagers`, and nothing else is under way in it. */
export function testLeadCases(at: CommonStack): void {
  describe('whether a lead gets through', () => {
    let stack: OpenStack;
    let operator: OperatorClient;

    beforeAll(() => {
      stack = at.open;
      operator = new OperatorClient(stack.endpoints(), join(stack.stack.runDir, 'logs', 'operator-bodies.jsonl'));
    });

    /** Samples of a counter or histogram at a service; 0 where it shows none. */
    async function counted(app: string, sample: RegExp): Promise<number> {
      const page = await (await fetch(stack.endpoints().metrics[app] ?? '')).text();
      const lines = page.split('\n').filter((line) => sample.test(line));
      return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    }
    const business = async () => ({
      accepted: await counted('intake', /^leads_intake_requests_total\{.*"accepted"/),
      delivered: await counted('crm-writer', /^leads_e2e_seconds_count/),
      told: await counted('notifier', /^leads_notifications_total\{.*"(succeeded|sent)"/),
      dead: await counted('operator', /^leads_dead_letters_total\{/),
    });
    const toldAbout = async (leadRef: unknown) =>
      (await stack.sandbox.messages()).filter(({ text }) => text.includes(String(leadRef))).map(({ chat_id, text }) => ({ chat_id, text }));

    describe('a test of a destination', () => {
      const marketing = async () => (await (await fetch(`${stack.endpoints().sandboxMarketing}/stats`)).json()) as object;

      interface TestLead {
        event_id: string;
        lead_ref: string;
        test: boolean;
        deliveries: { service: string; destination: string; state: string }[];
      }

      it('gets through to that destination alone, is told of as a test, and counts as no business', async () => {
        const before = await business();
        const records = (await stack.sandbox.crmStats()).records;
        const atMarketing = await marketing();
        const { status, body } = await operator.ask<{ event_id: string }>('operator', 'destinations/sandbox-crm/test', {});
        expect(status).toBe(202);
        const seen = await eventually(async () => {
          const { body: lead } = await operator.ask<TestLead>('viewer', `leads/${body.event_id}`);
          expect(lead).toMatchObject({
            test: true,
            deliveries: [
              { service: 'crm-writer', state: 'delivered' },
              { service: 'notifier', state: 'delivered' },
            ],
          });
          return lead;
        }, 60_000);
        expect(seen.deliveries[0]?.destination).toBe('sandbox-crm');
        expect(await stack.sandbox.leads(body.event_id)).toMatchObject([{ test: true }]);
        expect((await stack.sandbox.crmStats()).records).toBe(records + 1);
        expect(await marketing()).toEqual(atMarketing);
        // The sales chat of the demo is declared a sandbox.
        expect(await toldAbout(seen.lead_ref)).toEqual([
          { chat_id: '-1001', text: expect.stringMatching(new RegExp(`^TEST Lead delivered: ${seen.lead_ref}\n`)) },
        ]);
        expect(await business()).toEqual(before);

        expect((await stack.intake.post(leadBody('business-1', 1))).status).toBe(202);
        await eventually(async () => {
          const { accepted, delivered, told } = await business();
          expect([accepted - before.accepted, delivered > before.delivered, told - before.told]).toEqual([1, true, 1]);
        }, 60_000);
      }, 150_000);

      it('that comes to nothing has a dead letter like any other lead, and no alert counts it', async () => {
        // What was handed in before may still be delivered to its second destination.
        const counts = async () => {
          const { accepted, told, dead } = await business();
          return { accepted, told, dead };
        };
        const before = await counts();
        const nowhere = { form: 'nobody-routes-this' };
        const letterOf = async (eventId: unknown) =>
          eventually(async () => {
            const { body } = await operator.ask<{ items: object[] }>('viewer', `dead-letters/${String(eventId)}`);
            expect(body.items).toMatchObject([{ class: 'routing', state: 'open' }]);
          }, 60_000);
        const test = await stack.intake.post({ ...leadBody('dead-test', 4), ...nowhere, test: true });
        await letterOf(test.body.event_id);
        expect(await counts()).toEqual(before);
        const real = await stack.intake.post({ ...leadBody('dead-real', 5), ...nowhere });
        await letterOf(real.body.event_id);
        await eventually(async () => {
          expect(await counts()).toEqual({ accepted: before.accepted + 1, told: before.told + 1, dead: before.dead + 1 });
        }, 60_000);
      }, 180_000);

      it('reaches no chat of real managers, who are told of other leads', async () => {
        const lead = { form: 'callback' };
        await stack.upstream.send([{ sourceEventId: 'managers-test', n: 2, overrides: { ...lead, test: true } }]);
        await eventually(async () => {
          expect(
            await counted(
              'notifier',
              /^leads_notifications_total\{.*"managers".*"test_lead"|^leads_notifications_total\{.*"test_lead".*"managers"/,
            ),
          ).toBe(1);
        }, 60_000);
        expect((await stack.intake.post({ ...leadBody('managers-real', 3), ...lead })).status).toBe(202);
        const messages = await eventually(async () => {
          const there = (await stack.sandbox.messages()).filter(({ chat_id }) => String(chat_id) === managersChat);
          expect(there).not.toEqual([]);
          return there;
        }, 60_000);
        expect(messages).toMatchObject([{ text: expect.stringMatching(/^Lead delivered: /) }]);
      }, 150_000);
    });

    it('leads that came to nothing at intake are among what operator compares its dead letters with', async () => {
      const sample = /^leads_dead_letter_check_timestamp_seconds\{.*service="intake"/;
      // It begins with the start of the process: only a round that succeeds moves it.
      const before = await counted('operator', sample);
      await eventually(async () => expect(await counted('operator', sample)).toBeGreaterThan(before), 60_000);
    }, 90_000);
  });
}
