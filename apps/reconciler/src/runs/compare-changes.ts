import type { WindowItem } from '#delivery';
import type { FoundRecord } from '#destinations';
import type { Finding } from '../compare/finding.js';
import type { DestinationReader } from '../destinations/destination-reader.js';
import { openOf } from '../discrepancies/open-records.js';
import { anyTime, comparePage, type PageResult } from './compare-page.js';
import { isKept, isLikeOurs } from './our-ids.js';
import { timesOf } from './record-times.js';
import { databaseNowMs } from './run-row.js';
import type { RunTools } from './tools.js';
import { isTwinOf, leadsOfTwins, peopleOf, twin } from './twins.js';
import type { WaitingPeople } from './waiting-people.js';

export interface ChangesOptions {
  tools: RunTools;
  reader: DestinationReader;
  destination: string;
  /** Operation kind of the records. */
  kind: string;
  window: { from: Date; to: Date };
  waiting: WaitingPeople;
  /** Leads that are compared at a time. */
  page: number;
}

export interface Changes {
  /** About records that are not ours, and should be or may be. */
  findings: Finding[];
  /** What comparing our own came to, a page each. */
  ours: PageResult[];
}

/** Looks at a page of what changed there: for what is not ours, and should be or may be, and for what somebody did to ours since. */
export async function compareChanges(options: ChangesOptions, records: readonly FoundRecord[]): Promise<Changes> {
  const { kind } = options;
  const known = await deliveriesOf(options, records);
  const ours = await compareOurs(options, known);
  // Persons are compared with their leads: one whom only the destination knows is no business of ours.
  if (kind === 'contact') return { findings: [], ours };
  const like = records.filter((record): record is Keyed => record.key !== undefined && isLikeOurs(record.key));
  const unknown = await orphans(options, like, known);
  return { findings: [...unknown, ...(await twins(options, records))], ours };
}

type Keyed = FoundRecord & { key: string };

/** Deliveries of what changed there, by the ids or the persons that the records stand under. */
async function deliveriesOf({ tools, destination, kind }: ChangesOptions, records: readonly FoundRecord[]): Promise<WindowItem[]> {
  const keys = [...new Set(records.flatMap(({ key }) => key ?? []))];
  const asked = { ...anyTime, destination };
  if (kind === 'contact') return keys.length === 0 ? [] : (await tools.sources.deliveries({ ...asked, person_keys: keys })).items;
  const eventIds = [...new Set(keys.filter(isLikeOurs).map((key) => key.toLowerCase()))];
  return eventIds.length === 0 ? [] : (await tools.sources.deliveries({ ...asked, event_ids: eventIds })).items;
}

/**
 * Those that lie in the window were compared with it. A record that tells nothing but that it is there is asked for one by one: for those of a
 * window that is worth it.
 */
async function compareOurs(options: ChangesOptions, known: readonly WindowItem[]): Promise<PageResult[]> {
  const { tools, reader, destination, kind, window, page } = options;
  const others = known.filter(({ submitted_at, finished_at }) => !isIn(submitted_at, window) && !isIn(finished_at, window));
  const results: PageResult[] = [];
  for (let at = 0; at < others.length && reader.mayReadInBulk(kind); at += page) {
    results.push(await comparePage({ tools, reader, destination, kinds: [kind], inBulkAlone: true }, others.slice(at, at + page)));
  }
  return results;
}

/** Records under an id like ours that was never accepted; an old one may be of a lead that is not kept any more. */
async function orphans({ tools, kind, window }: ChangesOptions, like: readonly Keyed[], known: readonly WindowItem[]): Promise<Finding[]> {
  const delivered = new Set(known.map(({ event_id }) => event_id));
  const others = like.filter(({ key }) => !delivered.has(key.toLowerCase()));
  if (others.length === 0) return [];
  const nowMs = await databaseNowMs(tools.db);
  const named = others.filter(({ key }) => isKept(key, nowMs));
  const eventIds = [...new Set(named.map(({ key }) => key.toLowerCase()))];
  if (eventIds.length === 0) return [];
  const accepted = await tools.sources.leadSources(eventIds);
  return named
    .filter(({ key }) => !accepted.has(key.toLowerCase()))
    .map((record) => orphan({ ...record, kind }, record.key.toLowerCase(), atOf(record, window)));
}

/** @param eventId the id that the record stands under */
export function orphan(record: FoundRecord, eventId: string, atMs: number): Finding {
  return { class: 'orphan', kind: record.kind, eventId, ref: record.ref, evidence: timesOf(record), atMs };
}

/**
 * Records without our id that somebody may have typed in for a lead that still waits: made in the window, of the same person. One that was
 * found stays one when its lead is delivered: then the person is there twice.
 */
async function twins(options: ChangesOptions, records: readonly FoundRecord[]): Promise<Finding[]> {
  const { tools, reader, destination, kind, window, waiting } = options;
  const strange = records.filter(({ key }) => key === undefined);
  if (strange.length === 0) return [];
  const refs = strange.map(({ ref }) => ref);
  const rows = await openOf(tools.db, { destination, classes: ['possible_manual_twin'], kind, refs });
  const isOpen = new Set(rows.map(({ ref }) => ref));
  const looked = strange.filter((record) => isOpen.has(record.ref) || isIn(record.createdAt, window));
  const people = await peopleOf(looked, { tools, reader });
  const leads = await leadsOfTwins(tools, destination, rows);
  const findings: Finding[] = [];
  for (const record of looked) {
    const hashes = people.get(record) ?? [];
    const lead = hashes.length === 0 || !isIn(record.createdAt, window) ? undefined : await waiting.find(hashes);
    const before = rows.filter(({ ref }) => ref === record.ref).flatMap(({ event_id }) => leads.get(event_id) ?? []);
    const found = lead ?? before.find((one) => isTwinOf(record, one, hashes))?.lead;
    if (found !== undefined) findings.push(twin({ ...record, kind }, found, atOf(record, window)));
  }
  return findings;
}

function isIn(time: string | undefined, { from, to }: ChangesOptions['window']): boolean {
  return time !== undefined && Date.parse(time) >= from.getTime() && Date.parse(time) < to.getTime();
}

/** In the window it was found in, whenever it was made. */
function atOf({ createdAt, changedAt }: FoundRecord, window: ChangesOptions['window']): number {
  const at = [createdAt, changedAt].find((time) => isIn(time, window));
  return at === undefined ? window.from.getTime() : Date.parse(at);
}
