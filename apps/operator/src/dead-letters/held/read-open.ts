import type { Codec } from '#messaging';
import { InternalRefused, InternalUnavailable, type Sql } from '#runtime';
import { mayRead } from '../../people/person.js';
import { absences, type LetterFilter, type Reader } from '../letter-filter.js';
import { fitsNone, type HeldItem, type OpenKind, readWaiting, toHeldItem, type Waiting } from './held-item.js';
import type { OpenRequest, WaitingOwner, WaitingPosition } from './waiting-owner.js';

export interface OpenTools {
  db: Sql;
  codec: Pick<Codec, 'decode'>;
  /** Services that own deliveries, by name. */
  waiting: ReadonlyMap<string, WaitingOwner>;
}

export interface OpenAsked {
  kind: OpenKind;
  filter: LetterFilter;
  after?: WaitingPosition;
  newest?: boolean;
  limit: number;
  /** Pages of the owners at most; default: {@link mostPages}. */
  pages?: number;
}

export interface PlacedItem {
  item: HeldItem;
  position: WaitingPosition;
}

export interface OpenFound {
  items: PlacedItem[];
  /** Where it stopped; absent: there are no more. */
  end?: WaitingPosition;
  /** Services that do not answer. */
  unavailable: string[];
}

/** Pages of the owners behind one page of ours: where a filter leaves nearly all out, the answer is short and names where it stopped. */
const mostPages = 5;
export const ownerPage = 200;
/** The service that has what nobody claimed. */
export const unclaimedAt = 'intake';

const ofRecordAlone = ['class', 'code', 'no_code', 'schema_id', 'no_schema_id', 'owner', 'organization', 'q_ref'] as const;
const ofRecord = ['class', 'code', 'schema_id', 'owner', 'organization'] as const;

/**
 * Open deliveries that fit the filter and that the reader may see, over all services, each asked at the same time. Of what is uncertain those with
 * an open dead letter are left out. Nobody is asked where no delivery can fit; owners that do not answer are named, and not asked again.
 */
export async function readOpen(tools: OpenTools, asked: OpenAsked, reader: Reader): Promise<OpenFound> {
  const { kind, filter, limit, pages = mostPages } = asked;
  if (fitsNone(kind, filter)) return { items: [], unavailable: [] };
  const nowMs = await now(tools.db);
  let position = asked.after;
  const items: PlacedItem[] = [];
  const unavailable = new Set<string>();
  const leavesOut = reader.organizations !== '*' || ofRecordAlone.some((field) => filter[field] !== undefined);
  for (let page = 0; page < pages; page += 1) {
    // Mostly all that comes is wanted. Where much is left out, or was, as much is asked for as an owner gives.
    const size = leavesOut || page > 0 ? ownerPage : Math.min(ownerPage, limit + 1);
    const request = { destination: filter.destination, after: position, ...(asked.newest && { newest: true as const }), limit: size };
    const found = await nextPage(tools, { kind, request, unavailable });
    const told = kind === 'uncertain' ? await withLetter(tools.db, found) : new Set<string>();
    for (const one of found) {
      const item = toHeldItem(one, nowMs);
      const wanted = fits(item, filter) && mayRead(reader, item.organization) && !told.has(item.dead_letter_id);
      // Claimed at this moment it stands with intake and with its owner.
      told.add(item.dead_letter_id);
      if (wanted && items.length === limit) return { items, end: position, unavailable: [...unavailable] };
      position = positionOf(one);
      if (wanted) items.push({ item, position });
    }
    if (found.length < size) return { items, unavailable: [...unavailable] };
  }
  return { items, end: position, unavailable: [...unavailable] };
}

interface PageAsked {
  kind: OpenKind;
  request: OpenRequest;
  /** Takes the names of owners that do not answer. */
  unavailable: Set<string>;
}

/** The next of all owners' items, in their common order. */
async function nextPage({ codec, waiting }: OpenTools, { kind, request, unavailable }: PageAsked): Promise<Waiting[]> {
  const pages = await Promise.all(
    [...waiting].map(async ([service, owner]) => {
      if (unavailable.has(service)) return [];
      const page = await orAway(owner.page(kind, request), service, unavailable);
      return (page ?? []).map((item) => ({ kind, service, item }));
    }),
  );
  const sign = request.newest ? -1 : 1;
  const merged = pages
    .flat()
    .sort((one, other) => sign * inOrder(one.item, other.item))
    .slice(0, request.limit);
  return Promise.all(merged.map((one) => readWaiting(codec, one)));
}

/** What the others have is there also while a service is away: it is named. */
export async function orAway<T>(answer: Promise<T>, service: string, unavailable: Set<string>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    // An owner of the release before refuses what it does not know.
    if (!(error instanceof InternalUnavailable || error instanceof InternalRefused)) throw error;
    unavailable.add(service);
    return undefined;
  }
}

const letterSql = `
SELECT DISTINCT event_id || '/' || destination AS name FROM dead_letter
WHERE event_id = ANY ($1::uuid[]) AND state = 'open' AND class = 'unverified_write'`;

/** Of which of them somebody was told already. */
async function withLetter(db: Sql, found: readonly Waiting[]): Promise<Set<string>> {
  if (found.length === 0) return new Set();
  const rows = await db.sql<{ name: string }>('operator.told_uncertain', letterSql, [found.map(({ item }) => item.event_id)]);
  return new Set(rows.map(({ name }) => name));
}

/** As PostgreSQL orders them in each service, the oldest first; names are ASCII. */
function inOrder(one: WaitingPosition, other: WaitingPosition): number {
  const [earlier, later] = [BigInt(one.submitted_us), BigInt(other.submitted_us)];
  if (earlier !== later) return earlier < later ? -1 : 1;
  if (one.event_id !== other.event_id) return one.event_id < other.event_id ? -1 : 1;
  return one.destination < other.destination ? -1 : 1;
}

const positionOf = ({ item: { submitted_us, event_id, destination } }: Waiting): WaitingPosition => ({
  submitted_us,
  event_id,
  destination,
});

function fits(item: HeldItem, filter: LetterFilter): boolean {
  if (filter.q_ref !== undefined && item.lead_ref !== filter.q_ref && item.event_id !== filter.q_ref.toLowerCase()) return false;
  if (absences.some(([absence, field]) => filter[absence] !== undefined && (item[field] ?? null) !== null)) return false;
  return ofRecord.every((field) => filter[field] === undefined || filter[field] === item[field]);
}

export async function now(db: Sql): Promise<number> {
  const [clock] = await db.sql<{ now: Date }>('operator.now', 'SELECT clock_now() AS now', []);
  return (clock?.now ?? new Date()).getTime();
}
