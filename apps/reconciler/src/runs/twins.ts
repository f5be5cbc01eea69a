import type { DeliveryState } from '#contracts';
import type { FoundRecord } from '#destinations';
import type { Finding } from '../compare/finding.js';
import type { DestinationReader } from '../destinations/destination-reader.js';
import type { OpenRecord } from '../discrepancies/open-records.js';
import { anyTime } from './compare-page.js';
import { loadLeads } from './load-page.js';
import { timesOf } from './record-times.js';
import type { RunTools } from './tools.js';
import { reachedBy, type WaitingLead, waitingStates } from './waiting-people.js';

/** Keyed hashes of how the person of a record can be reached: by what it says itself, or its contact. */
export async function peopleOf(
  records: readonly FoundRecord[],
  { tools, reader }: { tools: RunTools; reader: DestinationReader },
): Promise<Map<FoundRecord, string[]>> {
  const refs = [...new Set(records.flatMap(({ links }) => links?.contact ?? []))];
  const contacts = refs.length === 0 ? new Map<string, FoundRecord>() : await reader.byRefs('contact', refs);
  const hashesOf = (record: FoundRecord): string[] =>
    [record, contacts.get(record.links?.contact ?? '')].flatMap((one) => reachedBy(tools.hmacs, personIn(one)));
  return new Map(records.map((record) => [record, hashesOf(record)]));
}

/** A destination without an operation `contact` has the person in the lead's record. */
function personIn(record: FoundRecord | undefined): { email?: unknown; phone?: unknown } {
  const fields = record?.fields ?? {};
  const { contact } = fields;
  const inner = typeof contact === 'object' && contact !== null ? (contact as Record<string, unknown>) : {};
  return { email: fields.email ?? inner.email, phone: fields.phone ?? inner.phone };
}

export function twin(record: FoundRecord, lead: WaitingLead, atMs: number): Finding {
  return {
    class: 'possible_manual_twin',
    kind: record.kind,
    eventId: lead.event_id,
    leadRef: lead.lead_ref,
    organization: lead.organization,
    ref: record.ref,
    evidence: { ...timesOf(record), lead_state: lead.state },
    atMs,
  };
}

/** In these a lead that was typed in by hand is there twice, or may still come to be. */
const twinStates: readonly DeliveryState[] = [...waitingStates, 'delivered'];

interface Lead {
  lead: WaitingLead;
  /** Absent where nobody can say. */
  hashes?: string[];
}

/** Leads of which a twin is open, as far as there still may be one: not of those that are unknown by now, erased or given up by a person. */
export async function leadsOfTwins(tools: RunTools, destination: string, rows: readonly OpenRecord[]): Promise<Map<string, Lead>> {
  const eventIds = [...new Set(rows.map(({ event_id }) => event_id))];
  if (eventIds.length === 0) return new Map();
  const { items } = await tools.sources.deliveries({ ...anyTime, destination, event_ids: eventIds });
  const loaded = await loadLeads(
    tools,
    items.filter(({ state }) => twinStates.includes(state)),
  );
  return new Map(
    loaded.map(({ item: { event_id, lead_ref, organization, state }, payload }): [string, Lead] => {
      const lead = { event_id, lead_ref, organization, state };
      return [event_id, { lead, ...(payload !== undefined && { hashes: reachedBy(tools.hmacs, payload.contact) }) }];
    }),
  );
}

/** Whether a record is still somebody's that has no id of ours. @param people keyed hashes of the record's person */
export function isTwinOf(record: FoundRecord, { hashes }: Lead, people: readonly string[]): boolean {
  return record.key === undefined && (hashes === undefined || people.some((hash) => hashes.includes(hash)));
}
