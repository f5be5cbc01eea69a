import { z } from 'zod';

/** Place between two rows of an order: microseconds since 1970 and the id of the last row. PostgreSQL's times are finer than a Date. */
export interface Position {
  microseconds: string;
  id: string;
}

const written = z.tuple([z.string(), z.string().regex(/^-?\d{1,18}$/), z.string().max(400)]);
const unreadable = { problem: 'is no place in this list', fix: 'Give the `next` of the page before, with the same order' };

export function writeCursor(order: string, { microseconds, id }: Position): string {
  return Buffer.from(JSON.stringify([order, microseconds, id])).toString('base64url');
}

/** Undefined for what was not written for this order, or whose id does not fit. */
export function readCursor(cursor: string, order: string, id: z.ZodType<string> = z.uuid()): Position | undefined {
  try {
    const [inOrder, microseconds, last] = written.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
    return inOrder === order && id.safeParse(last).success ? { microseconds, id: last } : undefined;
  } catch {
    return undefined;
  }
}

/** `after` of a request, as its list wrote it. */
export const cursorText = z.string().min(1).max(800);

/** Refuses a cursor of another list. `orderOf` the request, `idOf` what its ids look like (default: UUIDs). */
export function ownCursor<T extends { after?: string }>(
  orderOf: (request: T) => string,
  idOf?: (request: T) => z.ZodType<string>,
): [(request: T) => boolean, { path: PropertyKey[]; params: object }] {
  const fits = (request: T) => request.after === undefined || readCursor(request.after, orderOf(request), idOf?.(request)) !== undefined;
  return [fits, { path: ['after'], params: unreadable }];
}

/** Column as a cursor keeps it. */
export const microsecondsOf = (column: string): string => `(extract(epoch FROM ${column}) * 1000000)::bigint::text`;

/** A cursor's time as PostgreSQL compares it. */
export const timeAt = (parameter: string): string => `to_timestamp(0) + ${parameter}::bigint * interval '1 microsecond'`;

/** Of deliveries: event id and destination. */
export const heldId = z.string().regex(/^[0-9a-f-]{36} .{1,300}$/);
export const heldOrder = 'held';
