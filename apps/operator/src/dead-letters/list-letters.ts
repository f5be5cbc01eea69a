import { z } from 'zod';
import type { Sql } from '#runtime';
import { cursorText, heldId, heldOrder, microsecondsOf, ownCursor, type Position, readCursor, timeAt, writeCursor } from './cursor.js';
import { aboutBlocked, blockedDestination } from './held/blocked-destinations.js';
import { heldItem, unavailableOwners } from './held/held-item.js';
import { addFilter, addReader, Conditions, type LetterTab, letterFilter, type Reader } from './letter-filter.js';
import { type DeadLetterDetail, type DeadLetterItem, detailColumns, itemColumns, letterItem, withAdvice } from './letter-item.js';
import { statementName } from './statement-name.js';

const letterOrders = ['oldest', 'newest', 'due'] as const;
export type LetterOrder = (typeof letterOrders)[number];

const list = {
  ...letterFilter,
  state: z.enum(['open', 'closed', 'any']).optional().describe('Default: open; where leads are named, any.'),
  order: z.enum(letterOrders).optional().describe('By the age of the lead, `oldest` by default; `due`: by the time for an answer.'),
  after: cursorText.optional().describe('`next` of the page before.'),
  limit: z.coerce.number().int().min(1).max(200).default(50),
};
/** In which order letters are asked for. */
export const orderOf = ({ order = 'oldest' }: { order?: LetterOrder }): LetterOrder => order;
type Placed = { after?: string; order?: LetterOrder; tab?: LetterTab };
const cursorOrder = (request: Placed): string => (request.tab === 'held' ? heldOrder : orderOf(request));
const cursorIds: Readonly<Partial<Record<LetterTab, z.ZodType<string>>>> = { held: heldId, uncertain: z.union([z.uuid(), heldId]) };
const cursorId = ({ tab = 'all' }: Placed): z.ZodType<string> => cursorIds[tab] ?? z.uuid();

/** As a person asks, in a query string. */
export const listQuery = z.strictObject(list).refine(...ownCursor<Placed>(cursorOrder, cursorId));
export const listRequest = z
  .strictObject({ ...list, event_ids: z.array(z.uuid()).min(1).max(200).optional() })
  .refine(...ownCursor<Placed>(orderOf));
export type ListRequest = z.infer<typeof listRequest>;

export const showRequest = z.strictObject({ event_id: z.uuid() });

export const letterPage = z.object({
  items: z.array(z.union([letterItem, heldItem])),
  next: z.string().optional().describe('Absent on the last page.'),
  blocked: z.array(blockedDestination).optional().describe(aboutBlocked),
  unavailable: unavailableOwners.optional(),
});
export interface DeadLetterPage {
  items: DeadLetterItem[];
  next?: string;
}

const orders: Readonly<Record<LetterOrder, { column: string; beyond: string; direction: string }>> = {
  oldest: { column: 'age_from', beyond: '>', direction: '' },
  newest: { column: 'age_from', beyond: '<', direction: 'DESC' },
  due: { column: 'respond_by', beyond: '>', direction: '' },
};

/**
 * Dead letters that the reader may see, a page at a time. Neither column of an order ever changes in a row, so pages neither skip nor repeat
 * one; a letter that comes meanwhile is on a later page or on none.
 */
export async function listLetters(db: Sql, request: ListRequest, reader: Reader): Promise<DeadLetterPage> {
  const { after, limit } = request;
  const order = orderOf(request);
  const position = after === undefined ? undefined : readCursor(after, order);
  const found = await readLetters(db, { ...request, limit: limit + 1 }, { position, reader });
  const last = found.length > limit ? found[limit - 1] : undefined;
  return { items: found.slice(0, limit).map(({ item }) => item), ...(last && { next: writeCursor(order, last.position) }) };
}

export interface PlacedLetter {
  item: DeadLetterItem;
  position: Position;
}

/** Dead letters that the reader may see, `limit` of them behind a position, each with its own. */
export async function readLetters(
  db: Sql,
  request: ListRequest,
  { position, reader }: { position: Position | undefined; reader: Reader },
): Promise<PlacedLetter[]> {
  const { event_ids, limit } = request;
  const { column, beyond, direction } = orders[orderOf(request)];
  const state = request.state ?? (event_ids === undefined ? 'open' : 'any');
  const conditions = new Conditions();
  if (state !== 'any') conditions.add(`state = '${state}'`);
  addFilter(conditions, request, reader);
  if (event_ids !== undefined) conditions.add('event_id = ANY (?::uuid[])', event_ids);
  if (position !== undefined) {
    const [time, id] = [conditions.value(position.microseconds), conditions.value(position.id)];
    conditions.add(`(${column}, dead_letter_id) ${beyond} (${timeAt(time)}, ${id}::uuid)`);
  }
  const text = `
WITH clock AS (SELECT clock_now() AS now)
SELECT ${itemColumns}, ${microsecondsOf(column)} AS position FROM dead_letter, clock WHERE ${conditions.sql}
ORDER BY ${column} ${direction}, dead_letter_id ${direction} LIMIT ${conditions.value(limit)}`;
  const rows = await db.sql<DeadLetterItem & { position: string }>(statementName('letters', text), text, conditions.values);
  return rows.map(({ position: microseconds, ...item }) => ({
    item: withAdvice(item),
    position: { microseconds, id: item.dead_letter_id },
  }));
}

/** Every dead letter of one lead that the reader may see, whole. */
export async function showLetters(db: Sql, eventId: string, reader: Reader): Promise<{ items: DeadLetterDetail[] }> {
  const conditions = addReader(new Conditions().add('event_id = ?::uuid', eventId), reader);
  const text = `
WITH clock AS (SELECT clock_now() AS now) SELECT ${detailColumns} FROM dead_letter, clock WHERE ${conditions.sql} ORDER BY dead_letter_id`;
  const items = await db.sql<DeadLetterDetail>(statementName('show', text), text, conditions.values);
  return { items: items.map(withAdvice) };
}
