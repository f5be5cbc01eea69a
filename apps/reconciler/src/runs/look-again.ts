import type { FoundRecord } from '#destinations';
import type { Finding } from '../compare/finding.js';
import type { DestinationReader } from '../destinations/destination-reader.js';
import type { OpenRecord } from '../discrepancies/open-records.js';
import { orphan } from './compare-changes.js';
import { anyTime } from './compare-page.js';
import { isKept } from './our-ids.js';
import { databaseNowMs } from './run-row.js';
import type { RunTools } from './tools.js';
import { isTwinOf, leadsOfTwins, peopleOf, twin } from './twins.js';

export interface AgainOptions {
  tools: RunTools;
  reader: DestinationReader;
  destination: string;
}

interface Again {
  /** What is as it was. */
  findings: Finding[];
  /** Identities of those that are right by now. */
  gone: string[];
}

/** One that may still be, and its record. Absent: the destination cannot be read by reference, so that nothing is decided of the record. */
type Judge = (row: OpenRecord, record: FoundRecord | undefined) => Finding | 'gone' | undefined;

/** Looks again at open findings about records that are not ours, whenever these were made: at the record, and at what is known here by now. */
export async function lookAgain(options: AgainOptions, rows: readonly OpenRecord[]): Promise<Again> {
  const { tools, reader, destination } = options;
  const result: Again = { findings: [], gone: [] };
  for (const kind of new Set(rows.map((row) => row.kind))) {
    const some = rows.filter((row) => row.kind === kind);
    const byRef = await reader.byRefsIfAny(kind, [...new Set(some.map(({ ref }) => ref))]);
    const twins = some.filter((row) => row.class === 'possible_manual_twin');
    const judges: Partial<Record<OpenRecord['class'], Judge>> = {
      orphan: await judgeOrphans(
        tools,
        destination,
        some.filter((row) => row.class === 'orphan'),
      ),
      possible_manual_twin: await judgeTwins(options, twins, byRef),
    };
    for (const row of some) {
      const record = byRef?.get(row.ref);
      const verdict = byRef !== undefined && record === undefined ? 'gone' : judges[row.class]?.(row, record && { ...record, kind });
      if (verdict === 'gone') result.gone.push(row.identity);
      else if (verdict !== undefined) result.findings.push(verdict);
    }
  }
  return result;
}

async function judgeOrphans(tools: RunTools, destination: string, rows: readonly OpenRecord[]): Promise<Judge> {
  const eventIds = [...new Set(rows.map(({ event_id }) => event_id))];
  if (eventIds.length === 0) return () => undefined;
  const nowMs = await databaseNowMs(tools.db);
  const { items } = await tools.sources.deliveries({ ...anyTime, destination, event_ids: eventIds });
  const known = new Set([...items.map(({ event_id }) => event_id), ...(await tools.sources.leadSources(eventIds)).keys()]);
  return ({ event_id }, record) => {
    // An id that is too old to be judged is nobody's to judge any more.
    if (known.has(event_id) || !isKept(event_id, nowMs)) return 'gone';
    if (record === undefined) return undefined;
    return record.key?.toLowerCase() === event_id ? orphan(record, event_id, nowMs) : 'gone';
  };
}

async function judgeTwins(
  { tools, reader, destination }: AgainOptions,
  rows: readonly OpenRecord[],
  byRef: ReadonlyMap<string, FoundRecord> | undefined,
): Promise<Judge> {
  const leads = await leadsOfTwins(tools, destination, rows);
  const records = rows.flatMap(({ event_id, ref }) => (leads.has(event_id) ? (byRef?.get(ref) ?? []) : []));
  const people = await peopleOf(records, { tools, reader });
  const nowMs = Date.now();
  return (row, record) => {
    const lead = leads.get(row.event_id);
    if (lead === undefined) return 'gone';
    if (record === undefined) return undefined;
    const hashes = people.get(byRef?.get(row.ref) as FoundRecord) ?? [];
    return isTwinOf(record, lead, hashes) ? twin(record, lead.lead, nowMs) : 'gone';
  };
}
