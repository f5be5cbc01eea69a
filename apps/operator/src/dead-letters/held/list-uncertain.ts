import { heldId, type Position, readCursor, writeCursor } from '../cursor.js';
import { type GroupsAnswer, type GroupsQuery, groupLetters } from '../group-letters.js';
import type { Reader } from '../letter-filter.js';
import type { DeadLetterItem } from '../letter-item.js';
import { type LetterOrder, type ListRequest, orderOf, readLetters } from '../list-letters.js';
import { groupOpen } from './group-open.js';
import type { HeldItem } from './held-item.js';
import { toPosition, toWaiting } from './list-held.js';
import { type OpenFound, type OpenTools, readOpen } from './read-open.js';
import type { WaitingPosition } from './waiting-owner.js';

export interface UncertainPage {
  items: (DeadLetterItem | HeldItem)[];
  next?: string;
  unavailable?: string[];
}

interface Placed {
  item: DeadLetterItem | HeldItem;
  position: Position;
}

const firstId = '00000000-0000-0000-0000-000000000000';
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/**
 * Everything of which nobody knows whether it was written: from its first moment as the delivery that it is, and once somebody was told as the
 * dead letter in its place. By the age of the lead; in the order of the time for an answer dead letters come first, since nobody has to answer for
 * the others yet. Services that do not answer are named.
 */
export async function listUncertain(all: OpenTools, request: ListRequest, reader: Reader): Promise<UncertainPage> {
  const { after, limit } = request;
  const order = orderOf(request);
  const live = after === undefined ? undefined : readCursor(after, order, heldId);
  const letter = after === undefined || live !== undefined ? undefined : readCursor(after, order);
  const places = { live, letter };
  // No delivery is closed.
  const tools = request.state === 'closed' ? { ...all, waiting: new Map() } : all;
  const { placed, end, unavailable } =
    order === 'due' ? await oneAfterTheOther(tools, { request, reader, places }) : await merged(tools, { request, reader, places, order });
  const page = placed.slice(0, limit);
  const goOn = placed.length > limit ? page.at(-1)?.position : end && toPosition(end);
  return {
    items: page.map(({ item }) => item),
    ...(goOn && { next: writeCursor(order, goOn) }),
    ...(unavailable.length > 0 && { unavailable }),
  };
}

interface Asked {
  request: ListRequest;
  reader: Reader;
  /** Of the last item of the page before: a delivery, or a letter. */
  places: { live: Position | undefined; letter: Position | undefined };
}

interface Found {
  /** One more than asked for, where there are more. */
  placed: Placed[];
  /** Where the deliveries stopped. */
  end?: WaitingPosition;
  unavailable: string[];
}

const placedLive = ({ items }: OpenFound): Placed[] => items.map(({ item, position }) => ({ item, position: toPosition(position) }));

/** By the age of the lead; at the same moment letters stand before deliveries. */
async function merged(tools: OpenTools, { request, reader, places, order }: Asked & { order: LetterOrder }): Promise<Found> {
  const { live, letter } = places;
  const newest = order === 'newest';
  const filter = request;
  const limit = request.limit + 1;
  // All deliveries of the moment of a letter are behind it, and all letters of the moment of a delivery before it.
  const liveAfter = live ?? (letter && { microseconds: letter.microseconds, id: `${newest ? lastId : firstId} -` });
  const letterAfter = letter ?? (live && { microseconds: live.microseconds, id: newest ? firstId : lastId });
  const open = await readOpen(tools, { kind: 'uncertain', filter, after: toWaiting(liveAfter), newest, limit }, reader);
  // After the deliveries: what became a letter meanwhile is one of these.
  const letters = await readLetters(tools.db, { ...request, limit }, { position: letterAfter, reader });
  const told = new Set(letters.map(({ item }) => `${item.event_id}/${item.destination}`));
  const sign = newest ? -1 : 1;
  const byTime = (one: Placed, other: Placed): number =>
    sign * Number(BigInt(one.position.microseconds) - BigInt(other.position.microseconds));
  const { end } = open;
  const placed = [...letters, ...placedLive(open).filter(({ item }) => !told.has(item.dead_letter_id))]
    .sort(byTime)
    // What lies behind the place where the deliveries stopped may lie behind one that was not read.
    .filter((one) => end === undefined || byTime(one, { ...one, position: toPosition(end) }) <= 0);
  return { placed, end, unavailable: open.unavailable };
}

async function oneAfterTheOther(tools: OpenTools, { request, reader, places }: Asked): Promise<Found> {
  const { live, letter } = places;
  const limit = request.limit + 1;
  const letters = live === undefined ? await readLetters(tools.db, { ...request, limit }, { position: letter, reader }) : [];
  if (letters.length === limit) return { placed: letters, unavailable: [] };
  const asked = { kind: 'uncertain', filter: request, after: toWaiting(live), limit: limit - letters.length } as const;
  const open = await readOpen(tools, asked, reader);
  return { placed: [...letters, ...placedLive(open)], end: open.end, unavailable: open.unavailable };
}

/** The same in groups: of letters, and of deliveries of which nobody was told yet. */
export async function groupUncertain(tools: OpenTools, query: GroupsQuery, reader: Reader): Promise<GroupsAnswer> {
  const { items: live, unavailable } = await groupOpen(tools, { kind: 'uncertain', filter: query }, reader);
  const { as_of, items: told, left_out } = await groupLetters(tools.db, query, reader);
  const items = [...live, ...told].sort((one, other) => other.count - one.count);
  const cut = Math.max(0, items.length - query.limit);
  return { as_of, items: items.slice(0, query.limit), left_out: left_out + cut, ...(unavailable && { unavailable }) };
}
