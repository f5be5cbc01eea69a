import { describe, expect, it } from '@jest/globals';
import { LeadAcceptedEvent } from '#contracts';
import type { WindowItem } from '#delivery';
import type { FoundRecord } from '#destinations';
import { codec, keyed, makeLeads } from '../../../../test/support/reconcile/leads.js';
import { windowItem, windowOperation } from '../../../../test/support/reconcile/window-item.js';
import { comparePage, type PageOptions } from './compare-page.js';

const [lead] = makeLeads(1, Date.parse('2026-05-01T09:59:00Z'));
if (lead === undefined) throw new Error('no lead');
const { event, payload } = lead;

const item = windowItem({
  event_id: event.event_id,
  lead_ref: event.lead_ref,
  event: codec.encode(LeadAcceptedEvent, event).toString('base64'),
  person_key: payload.person_key,
  operations: [
    windowOperation({ kind: 'contact', ref: 'C-1', operation_key: 'contact' }),
    windowOperation({ kind: 'lead', ref: 'R-1', operation_key: 'lead' }),
  ],
});
const contact = (more: Partial<FoundRecord>): FoundRecord => ({
  kind: 'contact',
  ref: 'C-1',
  key: payload.person_key,
  fields: {},
  ...more,
});
const inquiry = (links: FoundRecord['links']): FoundRecord => ({ kind: 'lead', ref: 'R-1', key: event.event_id, links, fields: {} });

/** @param there every record of the destination @param one the delivery, where it is another one than `item` */
async function compare(
  there: readonly FoundRecord[],
  { one = item, kinds, custom }: { one?: WindowItem; kinds?: string[]; custom?: object } = {},
) {
  const reads: string[] = [];
  const reader = {
    byKeys: async (kind: string, keys: { key: string }[]) => {
      reads.push(`${kind} by key`);
      const of = (key: string) => there.filter((record) => record.kind === kind && record.key === key);
      return { presenceOnly: false, byKey: new Map(keys.map(({ key }) => [key, of(key)])) };
    },
    byRefs: async (kind: string, refs: string[]) => {
      if (refs.length > 0) reads.push(`${kind} by reference`);
      const named = (record: FoundRecord) => [record.ref, ...(record.mergedRefs ?? [])];
      const found = there.filter((record) => record.kind === kind);
      return new Map(refs.flatMap((ref) => found.filter((record) => named(record).includes(ref)).map((record) => [ref, record])));
    },
  };
  const expected = ({ kind, refs }: { kind: string; refs: Record<string, string> }) =>
    kind === 'lead'
      ? { fields: custom === undefined ? {} : { custom }, links: { contact: refs.contact } }
      : { fields: { name: payload.contact.name } };
  const tools = {
    db: { sql: async (name: string) => (name === 'reconciler.now' ? [{ now: Date.parse('2026-05-02T00:00:00Z') }] : []) },
    codec,
    hmacs: keyed,
    site: { destinations: { crm: { searchLagMs: 0, maxExecutionMs: 0 } } },
    connectors: new Map([['crm', { expected }]]),
    sources: {
      deliveries: async () => ({ items: [one] }),
      vault: { read: async () => [{ lead_ref: event.lead_ref, status: 200, payload }] },
    },
  };
  const options = { tools, reader, destination: 'crm', kinds } as unknown as PageOptions;
  const { findings, judged } = await comparePage(options, [one]);
  const fields = findings.flatMap((found) => found.fields ?? []);
  return { fields, findings: findings.map((found) => `${found.kind} ${found.class} ${found.aspect ?? ''}`.trim()), judged, reads };
}

describe('comparing a page', () => {
  const name = { name: payload.contact.name };

  it('finds nothing of a person who was merged into another, and of the lead that hangs on that one since', async () => {
    const merged = contact({ ref: 'C-2', mergedRefs: ['C-1'], fields: { name: 'Both' } });
    const { findings, reads } = await compare([merged, inquiry({ contact: 'C-2' })]);
    expect(findings).toEqual([]);
    expect(reads).toEqual(['contact by key', 'lead by key', 'contact by reference']);
    expect((await compare([merged, inquiry({ contact: 'C-2' })], { kinds: ['lead'] })).findings).toEqual([]);
    expect((await compare([merged, inquiry({ contact: 'C-3' })])).findings).toEqual(['lead relationship wrong_contact']);
  });

  it('finds nothing of a person whom another lead made again, and of the lead that hangs on that record', async () => {
    const anew = { ...item, contact_ref: 'C-9' };
    const there = [contact({ ref: 'C-9', fields: name }), inquiry({ contact: 'C-9' })];
    const { findings, reads } = await compare(there, { one: anew });
    expect(findings).toEqual([]);
    expect(reads).toEqual(['contact by key', 'lead by key']);
    expect((await compare(there)).findings).toEqual([
      'contact relationship delivered_without_reference',
      'lead relationship wrong_contact',
    ]);
  });

  it('says of fields whose names it does not tell which are the same', async () => {
    const fieldsOf = async (custom: object) => {
      const { fields } = await compare([contact({ fields: name }), inquiry({ contact: 'C-1' })], { custom });
      return fields;
    };
    const [one, other] = [await fieldsOf({ 'Your size': 'M' }), await fieldsOf({ 'Your colour': 'red' })];
    expect([...one, ...other]).toEqual([expect.stringMatching(/^custom\.#[0-9a-f]{8}$/), expect.stringMatching(/^custom\.#[0-9a-f]{8}$/)]);
    expect(one).not.toEqual(other);
    expect(await fieldsOf({ 'Your size': 'L' })).toEqual(one);
  });

  it('reads and decides on records of the kinds that are asked for alone', async () => {
    const there = [contact({ fields: { name: 'Other' } }), inquiry({ contact: 'C-1' })];
    const { findings, judged, reads } = await compare(there, { kinds: ['lead'] });
    expect([findings, reads, judged.map(({ kind }) => kind)]).toEqual([[], ['lead by key'], ['lead']]);
    expect((await compare(there, { kinds: ['contact'] })).findings).toEqual(['contact content_conflict value']);
  });
});
