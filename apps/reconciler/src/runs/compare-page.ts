import type { WindowItem, WindowOperation } from '#delivery';
import type { FoundRecord } from '#destinations';
import type { Site } from '#runtime';
import { compareOperation, type Seen, type Sides } from '../compare/compare-operation.js';
import type { Finding } from '../compare/finding.js';
import { judgeAbsence } from '../compare/judge-absence.js';
import { isToldAbout, judgeTelling } from '../compare/judge-telling.js';
import { isRecordOf } from '../compare/record-of.js';
import { type Rules, rulesOf } from '../compare/rules.js';
import type { DestinationReader, KeyOf, ReadRecords } from '../destinations/destination-reader.js';
import { type Judged, judgedBy } from './judged.js';
import { type LoadedLead, loadLeads } from './load-page.js';
import { type Missed, nameOf, type RecordName, readLooks, readSeen, type SeenRecord } from './remembered.js';
import { databaseNowMs } from './run-row.js';
import type { RunTools } from './tools.js';

/** What comparing some deliveries came to. */
export interface PageResult {
  findings: Finding[];
  /** Leads that were compared. */
  compared: number;
  /** Missed for the first time, or too lately. */
  missed: Missed[];
  found: Missed[];
  knownLooks: ReadonlyMap<string, number>;
  seen: SeenRecord[];
  /** What was decided, found or not. */
  judged: Judged[];
}

export interface PageOptions {
  tools: RunTools;
  reader: DestinationReader;
  destination: string;
  /** Kinds of records alone that are compared; default: all, and whether somebody was told. */
  kinds?: readonly string[];
  /** Kinds that can only be looked up one by one are left out: a call for each lead would be more than they are worth. */
  inBulkAlone?: boolean;
}

/** One operation with the records that stand under its key. */
interface Read {
  lead: LoadedLead;
  operation: WindowOperation;
  records: FoundRecord[];
  presenceOnly: boolean;
  name: RecordName;
}

/** Compares a page of deliveries with what the destination holds now. Everything personal is gone when it returns. */
export async function comparePage(options: PageOptions, items: readonly WindowItem[]): Promise<PageResult> {
  const { tools, reader, destination, kinds } = options;
  const { db, site, sources } = tools;
  const leads = await loadLeads(tools, items);
  // Before anything is read there: what is written meanwhile is newer than what was seen.
  const nowMs = await databaseNowMs(db);
  const read = await readRecords(options, leads);
  const config = site.destinations[destination];
  if (config === undefined) throw new Error('the destination is gone from the site file');
  const eventIds = leads.map(({ item }) => item.event_id);
  const knownLooks = await readLooks(db, destination, eventIds);
  const seen = await readSeen(
    db,
    destination,
    read.map(({ name }) => name),
  );
  const contactRefs = await contactsNow(reader, read);
  const judged = judge(read, {
    tools,
    destination,
    rules: { ...rulesOf(config), hide: hiddenBy(tools) },
    nowMs,
    seen,
    knownLooks,
    contactRefs,
  });
  const told = config.primary && kinds === undefined ? await untold(tools, leads, nowMs) : noneTold;
  const all = [...judged.findings, ...told.findings];
  const moved = await movedMeanwhile(sources.deliveries, all, { items, destination });
  const erased = items.filter(({ state }) => state === 'erased').map(({ event_id }) => ({ eventId: event_id }));
  return {
    ...judged,
    findings: all.filter(({ eventId = '' }) => !moved.has(eventId)),
    judged: [...judged.judged, ...told.judged, ...erased].filter(({ eventId }) => !moved.has(eventId)),
    compared: leads.length,
    knownLooks,
  };
}

/** Of a keyed hash as much as keeps the fields of one record apart. */
const hiddenBy =
  ({ hmacs }: Pick<RunTools, 'hmacs'>) =>
  (name: string): string =>
    hmacs.ref('fields', name).slice(0, 8);

/** Kinds in the order of the leads' operations; each is read at once. */
async function readRecords({ reader, kinds: only, inBulkAlone }: PageOptions, leads: readonly LoadedLead[]): Promise<Read[]> {
  const isWanted = (one: WindowOperation): boolean => canBeThere(one) && (only?.includes(one.kind) ?? true);
  const pairs = leads.flatMap((lead) => lead.item.operations.filter(isWanted).map((operation) => ({ lead, operation })));
  const kinds = [...new Set(pairs.map(({ operation }) => operation.kind))];
  const read: Read[] = [];
  for (const kind of kinds) {
    const some = pairs.filter(({ operation }) => operation.kind === kind);
    const keys = [...new Map(some.map(({ lead }) => keyOf(kind, lead.item)).map((key) => [key.key, key])).values()];
    const answer = await (inBulkAlone ? reader.byKeysInBulk(kind, keys) : reader.byKeys(kind, keys));
    if (answer !== undefined) read.push(...(await withReferences(reader, some, { kind, answer })));
  }
  return read;
}

/** A call was made that may have left a record. */
const canBeThere = ({ state, attempts }: WindowOperation): boolean =>
  state === 'succeeded' || (attempts > 0 && !['pending', 'in_flight', 'uncertain', 'erased'].includes(state));

function keyOf(kind: string, { event_id, person_key }: WindowItem): KeyOf {
  return { key: kind === 'contact' ? (person_key ?? event_id) : event_id, eventId: event_id, personKey: person_key };
}

/** What our key does not lead to is read by its reference: the key may have been changed there. */
async function withReferences(
  reader: DestinationReader,
  pairs: readonly { lead: LoadedLead; operation: WindowOperation }[],
  { kind, answer }: { kind: string; answer: ReadRecords },
): Promise<Read[]> {
  const recordsOf = (lead: LoadedLead) => answer.byKey.get(keyOf(kind, lead.item).key) ?? [];
  const lost = pairs.filter(({ lead, operation }) => {
    const isOurs = (record: FoundRecord): boolean => isRecordOf(record, { item: lead.item, operation });
    return operation.state === 'succeeded' && operation.ref !== undefined && !recordsOf(lead).some(isOurs);
  });
  const byRef = answer.presenceOnly
    ? new Map()
    : await reader.byRefs(kind, [...new Set(lost.map(({ operation }) => operation.ref as string))]);
  return pairs.map((pair) => {
    const { lead, operation } = pair;
    const records = recordsOf(lead);
    // Another lead's lost key may have brought the same record: where our own key leads to it, that is no second one.
    const named = lost.includes(pair) ? (byRef.get(operation.ref as string) as FoundRecord | undefined) : undefined;
    const key = kind === 'contact' ? (operation.ref ?? lead.item.event_id) : lead.item.event_id;
    return {
      lead,
      operation,
      records: named === undefined ? records : [named, ...records],
      presenceOnly: answer.presenceOnly,
      name: { kind, key },
    };
  });
}

/**
 * Where leads hang on another person than theirs: by what each person's record goes now, which people may have merged into another. It is read
 * only for those.
 */
async function contactsNow(reader: DestinationReader, read: readonly Read[]): Promise<JudgeContext['contactRefs']> {
  const wanted = read.flatMap(({ lead: { item }, records }) => {
    const { contact } = refsOf(item);
    const known = [undefined, contact, item.contact_ref];
    return contact !== undefined && records.some(({ links }) => !known.includes(links?.contact)) ? [contact] : [];
  });
  const records = wanted.length === 0 ? new Map<string, FoundRecord>() : await reader.byRefs('contact', [...new Set(wanted)]);
  return new Map([...records].map(([ref, record]) => [ref, record.ref]));
}

/** References of a lead's operations, by kind. */
const refsOf = ({ operations }: WindowItem): Record<string, string> =>
  Object.fromEntries(operations.flatMap(({ kind, ref }) => (ref === undefined ? [] : [[kind, ref]])));

interface JudgeContext {
  tools: RunTools;
  destination: string;
  rules: Rules;
  nowMs: number;
  seen: ReadonlyMap<string, Seen>;
  knownLooks: ReadonlyMap<string, number>;
  /** By the reference of a person's record that which it has now. */
  contactRefs: ReadonlyMap<string, string>;
}

type Verdicts = Pick<PageResult, 'findings' | 'missed' | 'found' | 'seen' | 'judged'>;

function judge(read: readonly Read[], context: JudgeContext): Verdicts {
  const { rules, nowMs, seen, knownLooks } = context;
  const result: Verdicts = { findings: [], missed: [], found: [], seen: [], judged: [] };
  for (const one of read) {
    const { operation, name } = one;
    const { item } = one.lead;
    const before = seen.get(nameOf(name));
    const sides = { ...sidesOf(one, context), seen: before };
    const compared = compareOperation(sides, rules);
    const decided = { eventId: item.event_id, kind: operation.kind };
    result.findings.push(...compared.findings);
    if (compared.seen !== undefined) result.seen.push({ ...name, seen: compared.seen });
    if (!compared.absent) {
      result.found.push(decided);
      result.judged.push({ ...decided, names: judgedBy(sides, compared, false) });
      continue;
    }
    const missedSinceMs = knownLooks.get(nameOf({ kind: operation.kind, key: item.event_id }));
    const verdict = judgeAbsence({ item, operation, seen: before, missedSinceMs }, rules, nowMs);
    result.judged.push({ ...decided, names: judgedBy(sides, compared, verdict.kind === 'finding') });
    if (verdict.kind === 'unconfirmed') result.missed.push({ ...decided, recordedMs: Date.parse(operation.recorded_at) });
    if (verdict.kind === 'finding') result.findings.push(verdict.finding);
  }
  return result;
}

function sidesOf(
  { lead: { item, event, payload }, operation, records, presenceOnly }: Read,
  { tools, destination, nowMs, contactRefs }: JudgeContext,
): Sides {
  const connector = tools.connectors.get(destination);
  const refs = refsOf(item);
  const expected =
    payload && operation.state === 'succeeded' ? connector?.expected?.({ kind: operation.kind, event, payload, refs }) : undefined;
  const contacts = [contactRefs.get(refs.contact ?? ''), item.contact_ref].filter((ref) => ref !== undefined);
  return { item, operation, expected, records, presenceOnly, readAtMs: nowMs, contactRefs: contacts };
}

type Told = Pick<PageResult, 'findings' | 'judged'>;

const noneTold: Told = { findings: [], judged: [] };

async function untold(
  { sources, site }: { sources: RunTools['sources']; site: Site },
  leads: readonly LoadedLead[],
  nowMs: number,
): Promise<Told> {
  const due = leads.filter(({ item, event }) => isToldAbout(item, { source: event.source }, { site, nowMs }));
  // What a person decided is not told back.
  const over = leads.filter(({ item }) => item.state === 'discarded');
  const judged = [...due, ...over].map(
    ({ item }): Judged => ({ eventId: item.event_id, names: ['told_nobody', 'relationship/told_late'] }),
  );
  if (due.length === 0) return { findings: [], judged };
  const eventIds = due.map(({ item }) => item.event_id);
  const { items } = await sources.notifications({ ...anyTime, event_ids: eventIds });
  const findings = due.flatMap(
    ({ item }) =>
      judgeTelling(
        item,
        items.filter(({ event_id }) => event_id === item.event_id),
      ) ?? [],
  );
  return { findings, judged };
}

/** For events that are named, whenever they were submitted. */
export const anyTime = { from: new Date(0).toISOString(), to: new Date(8_640_000_000_000).toISOString() };

/** Leads move on while they are compared: what is found of one that has changed meanwhile is left to the next run. Gives their events. */
async function movedMeanwhile(
  deliveries: RunTools['sources']['deliveries'],
  findings: readonly Finding[],
  { items, destination }: { items: readonly WindowItem[]; destination: string },
): Promise<ReadonlySet<string>> {
  const eventIds = [...new Set(findings.flatMap(({ eventId }) => eventId ?? []))];
  if (eventIds.length === 0) return new Set();
  const now = await deliveries({ ...anyTime, destination, event_ids: eventIds });
  const stateOf = ({ state, generation, operations, contact_written_at, contact_held, contact_ref }: WindowItem): string =>
    JSON.stringify([state, generation, operations, contact_written_at, contact_held, contact_ref]);
  const before = new Map(items.map((item) => [item.event_id, stateOf(item)]));
  const same = new Set(now.items.filter((item) => before.get(item.event_id) === stateOf(item)).map(({ event_id }) => event_id));
  return new Set(eventIds.filter((id) => !same.has(id)));
}
