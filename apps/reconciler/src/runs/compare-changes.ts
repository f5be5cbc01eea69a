import type { FoundRecord } from '#destinations';
import type { Finding } from '../compare/finding.js';
import type { DestinationReader } from '../destinations/destination-reader.js';
import { databaseNowMs } from './run-row.js';
import type { RunTools } from './tools.js';
import { reachedBy, type WaitingLead, type WaitingPeople } from './waiting-people.js';

export interface ChangesOptions {
  tools: RunTools;
  reader: DestinationReader;
  destination: string;
  /** Operation kind of the records. */
  kind: string;
  window: { from: Date; to: Date };
  waiting: WaitingPeople;
}

/** The form of our event ids (UUID, version 7). */
const ourId = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/**
 * Intake and crm-writer know a lead for 40 days; of what is older nobody can say that it was never accepted. A day less, so that no purge comes
 * between.
 */
const knownForMs = 39 * 86_400_000;

/** When an id of ours was made: its first 48 bits, in milliseconds. */
const madeAtMs = (id: string): number => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);

/** Looks at a page of what changed there for what is not ours, and should be or may be. */
export async function compareChanges(options: ChangesOptions, records: readonly FoundRecord[]): Promise<Finding[]> {
  return [...(await orphans(options, records)), ...(await twins(options, records))];
}

/** Records under an id like ours that was never accepted; an old one may be of a lead that is not kept any more. */
async function orphans({ tools, destination, kind, window }: ChangesOptions, records: readonly FoundRecord[]): Promise<Finding[]> {
  const like = records.filter((record): record is FoundRecord & { key: string } => record.key !== undefined && ourId.test(record.key));
  if (like.length === 0) return [];
  const knownFromMs = (await databaseNowMs(tools.db)) - knownForMs;
  const named = like.filter(({ key }) => madeAtMs(key) > knownFromMs);
  const eventIds = [...new Set(named.map(({ key }) => key.toLowerCase()))];
  if (eventIds.length === 0) return [];
  const asked = { from: window.from.toISOString(), to: window.to.toISOString(), destination, event_ids: eventIds };
  const delivered = new Set((await tools.sources.deliveries(asked)).items.map(({ event_id }) => event_id));
  const unknown = eventIds.filter((id) => !delivered.has(id));
  if (unknown.length === 0) return [];
  const accepted = await tools.sources.leadSources(unknown);
  return named
    .filter(({ key }) => !delivered.has(key.toLowerCase()) && !accepted.has(key.toLowerCase()))
    .map((record) => ({
      class: 'orphan' as const,
      kind,
      eventId: record.key.toLowerCase(),
      ref: record.ref,
      evidence: timesOf(record),
      atMs: atOf(record, window),
    }));
}

/** Records without our id that somebody may have typed in for a lead that still waits: made in the window, of the same person. */
async function twins({ tools, reader, kind, window, waiting }: ChangesOptions, records: readonly FoundRecord[]): Promise<Finding[]> {
  const typed = records.filter((record) => record.key === undefined && isIn(record.createdAt, window));
  if (typed.length === 0) return [];
  const refs = [...new Set(typed.flatMap(({ links }) => links?.contact ?? []))];
  const contacts = refs.length === 0 ? new Map<string, FoundRecord>() : await reader.byRefs('contact', refs);
  const findings: Finding[] = [];
  for (const record of typed) {
    const hashes = [record, contacts.get(record.links?.contact ?? '')].flatMap((one) => reachedBy(tools.hmacs, personIn(one)));
    const lead = hashes.length === 0 ? undefined : await waiting.find(hashes);
    if (lead !== undefined) findings.push(twin(record, lead, { kind, window }));
  }
  return findings;
}

function twin(record: FoundRecord, lead: WaitingLead, { kind, window }: Pick<ChangesOptions, 'kind' | 'window'>): Finding {
  return {
    class: 'possible_manual_twin',
    kind,
    eventId: lead.event_id,
    leadRef: lead.lead_ref,
    organization: lead.organization,
    ref: record.ref,
    evidence: { ...timesOf(record), lead_state: lead.state },
    atMs: atOf(record, window),
  };
}

/** A destination without an operation `contact` has the person in the lead's record. */
function personIn(record: FoundRecord | undefined): { email?: unknown; phone?: unknown } {
  const fields = record?.fields ?? {};
  const { contact } = fields;
  const inner = typeof contact === 'object' && contact !== null ? (contact as Record<string, unknown>) : {};
  return { email: fields.email ?? inner.email, phone: fields.phone ?? inner.phone };
}

function isIn(time: string | undefined, { from, to }: ChangesOptions['window']): boolean {
  return time !== undefined && Date.parse(time) >= from.getTime() && Date.parse(time) < to.getTime();
}

function timesOf({ createdAt, changedAt }: FoundRecord): Finding['evidence'] {
  return { ...(createdAt !== undefined && { created_at: createdAt }), ...(changedAt !== undefined && { changed_at: changedAt }) };
}

/** In the window it was found in, whenever it was made. */
function atOf({ createdAt, changedAt }: FoundRecord, window: ChangesOptions['window']): number {
  const at = [createdAt, changedAt].find((time) => isIn(time, window));
  return at === undefined ? window.from.getTime() : Date.parse(at);
}
