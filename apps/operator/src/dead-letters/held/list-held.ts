import type { Codec } from '#messaging';
import type { Sql } from '#runtime';
import { mayRead } from '../../people/person.js';
import { heldId, heldOrder, type Position, readCursor, writeCursor } from '../cursor.js';
import type { GroupsAnswer, LetterGroup } from '../group-letters.js';
import { absences, type LetterFilter, type Reader } from '../letter-filter.js';
import { type HeldItem, nextAction, ownerOf, readWaiting, runbook, toHeldItem, type Waiting } from './held-item.js';
import type { WaitingOwner, WaitingPosition } from './waiting-owner.js';

export interface HeldTools {
  db: Sql;
  codec: Pick<Codec, 'decode'>;
  /** Services that own deliveries, by name. */
  waiting: ReadonlyMap<string, WaitingOwner>;
}

/** Pages of the owners behind one page of ours: where a filter leaves nearly all out, the answer is short and names where it stopped. */
const mostPages = 20;
const ownerPage = 200;

const ofRecord = ['class', 'code', 'schema_id', 'owner', 'organization'] as const;

/**
 * Deliveries that wait for their destinations, the longest submitted first, over all services. Where more than a few thousand do not fit
 * the filter a page may be short, even empty, and still have a `next`. Rejects with InternalUnavailable while an owner does not answer.
 */
export async function listHeld(
  tools: HeldTools,
  { filter, after, limit }: { filter: LetterFilter; after?: string; limit: number },
  reader: Reader,
): Promise<{ items: HeldItem[]; next?: string }> {
  const nowMs = await now(tools.db);
  let position = after === undefined ? undefined : toWaiting(readCursor(after, heldOrder, heldId));
  const items: HeldItem[] = [];
  for (let page = 0; page < mostPages; page += 1) {
    const size = Math.min(ownerPage, limit + 1);
    const found = await nextPage(tools, { destination: filter.destination, after: position, limit: size });
    for (const one of found) {
      const item = toHeldItem(one, nowMs);
      const wanted = fits(item, filter) && mayRead(reader, item.organization);
      if (wanted && items.length === limit) return { items, next: position && cursorAt(position) };
      if (wanted) items.push(item);
      position = positionOf(one);
    }
    if (found.length < size) return { items };
  }
  return { items, next: position && cursorAt(position) };
}

/** The next of all owners' items, in their common order. */
async function nextPage(
  { codec, waiting }: HeldTools,
  request: { destination?: string; after?: WaitingPosition; limit: number },
): Promise<Waiting[]> {
  const pages = await Promise.all(
    [...waiting].map(async ([service, owner]) => (await owner.page(request)).map((item) => ({ service, item }))),
  );
  const merged = pages
    .flat()
    .sort((one, other) => order(one.item, other.item))
    .slice(0, request.limit);
  return Promise.all(merged.map(({ service, item }) => readWaiting(codec, service, item)));
}

/** As PostgreSQL orders them in each service; names are ASCII. */
function order(one: WaitingPosition, other: WaitingPosition): number {
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
const cursorAt = ({ submitted_us, event_id, destination }: WaitingPosition): string =>
  writeCursor(heldOrder, { microseconds: submitted_us, id: `${event_id} ${destination}` });

function toWaiting(position: Position | undefined): WaitingPosition | undefined {
  if (position === undefined) return undefined;
  const [event_id = '', ...destination] = position.id.split(' ');
  return { submitted_us: position.microseconds, event_id, destination: destination.join(' ') };
}

function fits(item: HeldItem, filter: LetterFilter): boolean {
  if (filter.q_ref !== undefined && item.lead_ref !== filter.q_ref && item.event_id !== filter.q_ref.toLowerCase()) return false;
  // Nobody is assigned to what goes on by itself, it has no disposition to choose, and no group of dead letters holds it.
  if (filter.assignee !== undefined || filter.disposition !== undefined || filter.group !== undefined) return false;
  if (absences.some(([absence, field]) => filter[absence] !== undefined && (item[field] ?? null) !== null)) return false;
  return ofRecord.every((field) => filter[field] === undefined || filter[field] === item[field]);
}

const onlyOfRecords = ['organization', 'schema_id', 'no_schema_id', 'q_ref'] as const;
const ofGroup = ['destination', 'class', 'code', 'owner'] as const;

/**
 * The same by destination and reason. Whoever may not see all organizations, or filters by what only records tell, has the first few
 * thousand counted one by one.
 */
export async function groupHeld(tools: HeldTools, filter: LetterFilter, reader: Reader): Promise<GroupsAnswer> {
  const as_of = new Date(await now(tools.db));
  const byRecord = onlyOfRecords.some((field) => filter[field] !== undefined);
  const counted =
    reader.organizations === '*' && !byRecord ? await ownersGroups(tools) : groupsOf(await firstThousands(tools, filter, reader));
  const items = counted.filter(
    (group) =>
      ofGroup.every((field) => filter[field] === undefined || filter[field] === group[field]) &&
      (filter.no_code === undefined || group.code === null) &&
      filter.assignee === undefined &&
      filter.disposition === undefined &&
      filter.group === undefined,
  );
  return { as_of, items, left_out: 0 };
}

const noTrend = (): number[] => Array.from({ length: 24 }, () => 0);

async function ownersGroups({ waiting }: HeldTools): Promise<LetterGroup[]> {
  const all = await Promise.all([...waiting].map(([, owner]) => owner.groups()));
  return all.flat().map((group) => {
    const { destination, count, overdue, sample_event_ids, reason = 'held', code = null } = group;
    const times = { first_at: new Date(group.first_at), last_at: new Date(group.last_at), respond_by: new Date(group.deadline_at) };
    return { ...named(destination, reason, code), ...times, count, overdue, sample_event_ids };
  });
}

function named(destination: string, reason: string, code: string | null) {
  return {
    key: ['held', destination, reason, code ?? ''].join(' '),
    class: reason,
    destination,
    code,
    schema_id: null,
    trend: noTrend(),
    owner: ownerOf(reason),
    disposition: 'wait',
    assignee: null,
    next_action: nextAction,
    runbook,
  };
}

async function firstThousands(tools: HeldTools, filter: LetterFilter, reader: Reader): Promise<HeldItem[]> {
  const items: HeldItem[] = [];
  let after: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const found = await listHeld(tools, { filter, after, limit: ownerPage }, reader);
    items.push(...found.items);
    after = found.next;
    if (after === undefined) break;
  }
  return items;
}

function groupsOf(items: readonly HeldItem[]): LetterGroup[] {
  const groups = new Map<string, LetterGroup>();
  for (const item of items) {
    const base = named(item.destination, item.class, item.code);
    const [submitted, deadline] = [new Date(item.submitted_at), new Date(item.deadline_at)];
    const group = groups.get(base.key) ?? {
      ...base,
      first_at: submitted,
      last_at: submitted,
      respond_by: deadline,
      count: 0,
      overdue: 0,
      sample_event_ids: [],
    };
    group.count += 1;
    group.last_at = submitted;
    if (group.respond_by === null || deadline < group.respond_by) group.respond_by = deadline;
    if (deadline.getTime() < submitted.getTime() + item.age_ms) group.overdue += 1;
    if (group.sample_event_ids.length < 3) group.sample_event_ids.push(item.event_id);
    groups.set(base.key, group);
  }
  return [...groups.values()].sort((one, other) => other.count - one.count);
}

async function now(db: Sql): Promise<number> {
  const [clock] = await db.sql<{ now: Date }>('operator.now', 'SELECT clock_now() AS now', []);
  return (clock?.now ?? new Date()).getTime();
}
