import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { person } from '../../privacy/planted.js';
import type { CommonStack } from '../../support/common-stack.js';
import { eventually } from '../../support/eventually.js';
import { OperatorClient } from '../../support/operator.js';
import type { OpenStack } from '../../support/stack.js';
import { leadBody } from '../../support/traffic.js';

export function findLeadCases(at: CommonStack): void {
  describe('finding a lead', () => {
    interface TimelineView {
      event_id: string;
      lead_ref: string;
      trace_id: string;
      summary: Record<string, string>;
      deliveries: {
        service: string;
        destination: string;
        state: string;
        operations: { operation_key: string; kind: string; ref?: string }[];
      }[];
      events: {
        at: string;
        kind: string;
        title: string;
        service: string;
        destination?: string;
        attempt_id?: string;
        trace_id?: string;
        topic?: string;
        offset?: string;
      }[];
      dead_letters: { class: string; state: string }[];
      notifications: { state: string }[];
      masked: Record<string, string>;
      unavailable: string[];
    }

    /** A lead that the CRM refused, that was replayed and then arrived, as people on duty find it and read its way. */
    let stack: OpenStack;
    let operator: OperatorClient;
    let eventId: string;
    let seen: TimelineView;
    const sourceEventId = 'find-me-1';

    const timeline = async (): Promise<TimelineView> => (await operator.ask<TimelineView>('viewer', `leads/${eventId}`)).body;
    const crmOf = ({ deliveries }: TimelineView) => deliveries.find(({ destination }) => destination === 'sandbox-crm');
    /** What the owner of such dead letters was told, in the order in which he was; other leads of this stack have other letters. */
    const dutyChat = '-1002';
    const notices = async () =>
      (await stack.sandbox.messages())
        .filter(({ chat_id, text }) => String(chat_id) === dutyChat && text.includes('permanent at sandbox-crm'))
        .map(({ text }) => text);

    beforeAll(async () => {
      stack = at.open;
      operator = new OperatorClient(stack.endpoints(), join(stack.stack.runDir, 'logs', 'operator-bodies.jsonl'));
      await stack.sandbox.control({ operation: 'lead', status: 422 });
      const { status, body } = await stack.intake.post(leadBody(sourceEventId, 0));
      expect(status).toBe(202);
      eventId = String(body.event_id);
    }, 60_000);

    describe('a lead that failed', () => {
      it('shows why, what happens next and who acts, and what sales and the customer saw', async () => {
        await eventually(async () => {
          seen = await timeline();
          expect(crmOf(seen)?.state).toBe('dead');
          expect(seen.dead_letters).toMatchObject([{ class: 'permanent', state: 'open' }]);
        }, 60_000);
        expect(seen.summary).toMatchObject({
          what_happened: expect.stringContaining('It did not reach sandbox-crm: the destination refused it.'),
          next: expect.stringContaining('Nothing happens by itself.'),
          who: expect.stringContaining('connection to the destination'),
          seen_by_sales: expect.stringContaining('It does not stand in sandbox-crm.'),
        });
        expect(seen.masked).toEqual({ name: 'Z…', email: 'Z…@example.test', phone: '…80' });
        expect(seen.unavailable).toEqual([]);
      }, 90_000);

      it('is told to its owner, without a word of the person', async () => {
        const [notice = ''] = await eventually(async () => {
          const told = await notices();
          expect(told).toHaveLength(1);
          return told;
        }, 30_000);
        expect(notice.split('\n')).toEqual([
          'New dead letter for Integration duty',
          '1 × permanent at sandbox-crm',
          expect.stringMatching(/^Look by \d{4}-\d{2}-\d{2} \d{2}:\d{2} UTC$/),
          expect.stringMatching(/^http\S+\/queues\/all\?owner=integration$/),
          '#dead_letters',
        ]);
        const { name, email, phone, message } = person(0);
        for (const value of [name, email, phone, message, eventId, seen.lead_ref, sourceEventId])
          expect(notice.toLowerCase().includes(value.toLowerCase())).toBe(false);
      }, 60_000);

      it('is replayed and arrives, and its whole way can be read in order', async () => {
        await stack.sandbox.clearRules();
        const approval = { reason: 'the field is there now', new_deadline: '1h', select: { event_ids: [eventId] }, max: 1 };
        expect(await operator.ask('admin', 'items/approve', approval)).toMatchObject({ status: 200, body: { approved: 1 } });
        await eventually(async () => {
          seen = await timeline();
          expect(crmOf(seen)?.state).toBe('delivered');
          expect(seen.dead_letters).toMatchObject([{ state: 'closed' }]);
          expect(seen.notifications).toContainEqual(expect.objectContaining({ state: 'succeeded' }));
        }, 90_000);
        expect(seen.summary).toMatchObject({
          what_happened: expect.stringContaining('sandbox-crm has it as '),
          seen_by_sales: expect.stringContaining('told by a message'),
        });
        // Its owner heard of it once, whatever came after.
        expect(await notices()).toHaveLength(1);
        const times = seen.events.map(({ at }) => at);
        expect(times).toEqual([...times].sort());
        const kinds = new Set(seen.events.map(({ kind }) => kind));
        for (const kind of ['submitted', 'accepted', 'announced', 'received', 'attempt', 'dead_letter', 'replay', 'ended'])
          expect(kinds).toContain(kind);
        expect(seen.events.find(({ kind, service }) => kind === 'received' && service === 'crm-writer')).toMatchObject({
          topic: 'lead.accepted',
          offset: expect.stringMatching(/^\d+$/),
        });
      }, 120_000);
    });

    describe('the search box', () => {
      it('finds it by every id that somebody may hold', async () => {
        const lead = crmOf(seen)?.operations.find(({ kind }) => kind === 'lead');
        const attempt = seen.events.findLast(({ kind, destination }) => kind === 'attempt' && destination === 'sandbox-crm');
        const ids = {
          event_id: eventId,
          source_event_id: sourceEventId,
          operation_key: lead?.operation_key,
          attempt_id: attempt?.attempt_id,
          crm_id: lead?.ref,
          lead_ref: seen.lead_ref,
          email: person(0).email.toLowerCase(),
          phone: person(0).phone.replace(/(\d{3})(\d{4})$/, ' $1-$2'),
        };
        for (const [kind, text] of Object.entries(ids)) {
          const { body } = await operator.ask('viewer', 'search', { text });
          expect({ kind, text: kind === 'email' || kind === 'phone' ? '' : text, body }).toMatchObject({
            body: { items: [{ kind, event_id: eventId }], unavailable: [] },
          });
        }
        for (const text of [seen.trace_id, attempt?.trace_id]) {
          expect((await operator.ask('viewer', 'search', { text })).body).toMatchObject({
            items: [{ kind: 'trace_id', event_id: eventId }],
          });
        }
        expect(attempt?.trace_id).not.toBe(seen.trace_id);
      }, 60_000);

      it('lets only who may reveal see the clear text, and keeps what was typed out of everything that is written', async () => {
        const reveal = { reason: 'The customer called' };
        expect(await operator.ask('viewer', `leads/${eventId}/reveal`, reveal)).toMatchObject({ status: 403 });
        const { status, body } = await operator.ask<{ fields: { email: string } }>('operator', `leads/${eventId}/reveal`, reveal, {
          unseen: true,
        });
        expect({ status, right: body.fields.email.toLowerCase() === person(0).email.toLowerCase() }).toEqual({ status: 200, right: true });
        await eventually(async () => {
          const { body: page } = await operator.ask<{ items: { action: string }[] }>('admin', 'audit?action=lead.reveal');
          expect(page.items).toHaveLength(1);
        });
        // Addresses that no lead has: they can only come from the box.
        for (const n of [5, 6]) {
          for (const text of [person(n).email, person(n).phone]) await operator.ask('viewer', 'search', { text });
          await operator.ask('viewer', 'search', { text: person(n).email, kind: 'phone' });
        }
        expect(stack.spans.spans.length).toBeGreaterThan(0);
        const upstream = await stack.upstream.send([{ sourceEventId: 'find-me-2', n: 1 }]);
        expect(upstream).toBeUndefined();
        // Whoever closes the stack looks for them.
      }, 120_000);
    });
  });
}
