import { describe, expect, it } from '@jest/globals';
import { type DeliveryState, LeadAcceptedEvent } from '#contracts';
import type { DiscrepancyClass } from '#delivery';
import type { FoundRecord } from '#destinations';
import { newEventId } from '#runtime';
import { codec, keyed, type MadeLead, makeLeads } from '../../../../test/support/reconcile/leads.js';
import { windowItem } from '../../../../test/support/reconcile/window-item.js';
import { identityOf } from '../compare/finding.js';
import type { OpenRecord } from '../discrepancies/open-records.js';
import { type AgainOptions, lookAgain } from './look-again.js';

const now = Date.now();
const day = 86_400_000;
const [lead, other] = makeLeads(2, now - 10 * day) as [MadeLead, MadeLead];

const row = (name: DiscrepancyClass, eventId: string): OpenRecord => {
  const one = { class: name, kind: 'lead', ref: 'R-1' };
  return { ...one, event_id: eventId, identity: identityOf('crm', { ...one, eventId, evidence: {}, atMs: 0 }) };
};
const record = (more: Partial<FoundRecord> = {}): FoundRecord => ({
  kind: 'lead',
  ref: 'R-1',
  createdAt: '2026-05-01T11:00:00Z',
  fields: {},
  ...more,
});

interface Known {
  /** What stands there under the reference; `unreadable`: nobody can say. */
  there?: FoundRecord | 'unreadable';
  /** Of the lead's delivery; absent: there is none. */
  state?: DeliveryState;
  accepted?: string[];
}

async function again(open: OpenRecord, { there, state, accepted = [] }: Known) {
  const event = codec.encode(LeadAcceptedEvent, lead.event).toString('base64');
  const item = windowItem({ event_id: lead.event.event_id, lead_ref: lead.event.lead_ref, state, event });
  const tools = {
    db: { sql: async () => [{ now }] },
    codec,
    hmacs: keyed,
    sources: {
      deliveries: async () => ({ items: state === undefined ? [] : [item] }),
      leadSources: async () => new Map(accepted.map((id) => [id, {}])),
      vault: { read: async () => [{ lead_ref: lead.event.lead_ref, status: 200, payload: lead.payload }] },
    },
  };
  const byRefs = async (_kind: string, refs: string[]) => (there === 'unreadable' ? undefined : new Map(there && [[refs[0], there]]));
  const reader = { byRefsIfAny: byRefs, byRefs: async () => new Map() };
  const { findings, gone } = await lookAgain({ tools, reader, destination: 'crm' } as unknown as AgainOptions, [open]);
  for (const finding of findings) expect(identityOf('crm', finding)).toBe(open.identity);
  return gone.length > 0 ? 'gone' : (findings[0]?.evidence.lead_state ?? findings[0]?.class ?? 'undecided');
}

describe('an open finding about a record that is not ours', () => {
  const { email } = lead.payload.contact;
  const theirs = record({ fields: { email } });

  it.each<[string, Known, string]>([
    ['stays while its lead waits', { there: theirs, state: 'waiting' }, 'waiting'],
    ['stays, and says so, once its lead is delivered', { there: theirs, state: 'delivered' }, 'delivered'],
    ['goes when the lead is discarded', { there: theirs, state: 'discarded' }, 'gone'],
    ['goes when the lead is erased', { there: theirs, state: 'erased' }, 'gone'],
    ['goes when nobody knows the lead any more', { there: theirs }, 'gone'],
    ['goes with the record', { state: 'delivered' }, 'gone'],
    ['goes when the record has an id of ours', { there: { ...theirs, key: lead.event.event_id }, state: 'delivered' }, 'gone'],
    ['goes when the record is of another person', { there: record({ fields: other.payload.contact }), state: 'delivered' }, 'gone'],
    ['is left alone where the record cannot be read', { there: 'unreadable', state: 'delivered' }, 'undecided'],
    ['goes with the lead also where the record cannot be read', { there: 'unreadable', state: 'discarded' }, 'gone'],
  ])('that may be a twin %s', async (_what, known, wanted) => {
    expect(await again(row('possible_manual_twin', lead.event.event_id), known)).toBe(wanted);
  });

  const nobodys = newEventId(now - 10 * day);
  const stranger = record({ key: nobodys });
  it.each<[string, string, Known, string]>([
    ['stays while nobody knows its id', nobodys, { there: stranger }, 'orphan'],
    ['goes with the record', nobodys, {}, 'gone'],
    ['goes when the record has another key', nobodys, { there: record({ key: newEventId() }) }, 'gone'],
    ['goes when a lead of its id came', nobodys, { there: stranger, accepted: [nobodys] }, 'gone'],
    ['goes when its id is too old to be judged', newEventId(now - 40 * day), { there: stranger }, 'gone'],
    ['is left alone where the record cannot be read', nobodys, { there: 'unreadable' }, 'undecided'],
  ])('that is an orphan %s', async (_what, eventId, known, wanted) => {
    expect(await again(row('orphan', eventId), known)).toBe(wanted);
  });
});
