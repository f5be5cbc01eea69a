import { heldId, heldOrder, type Position, readCursor, writeCursor } from '../cursor.js';
import type { LetterFilter, Reader } from '../letter-filter.js';
import type { HeldItem } from './held-item.js';
import { type OpenTools, readOpen } from './read-open.js';
import type { WaitingPosition } from './waiting-owner.js';

/**
 * Deliveries that wait for their destinations, claimed or not, the longest submitted first, over all services. Where hundreds in a row do not
 * fit the filter a page may be short, even empty, and still have a `next`. Services that do not answer are named.
 */
export async function listHeld(
  tools: OpenTools,
  { filter, after, limit }: { filter: LetterFilter; after?: string; limit: number },
  reader: Reader,
): Promise<{ items: HeldItem[]; next?: string; unavailable?: string[] }> {
  const position = after === undefined ? undefined : toWaiting(readCursor(after, heldOrder, heldId));
  const { items, end, unavailable } = await readOpen(tools, { kind: 'held', filter, after: position, limit }, reader);
  return {
    items: items.map(({ item }) => item),
    ...(end && { next: writeCursor(heldOrder, toPosition(end)) }),
    ...(unavailable.length > 0 && { unavailable }),
  };
}

/** As a cursor keeps it. */
export const toPosition = ({ submitted_us, event_id, destination }: WaitingPosition): Position => ({
  microseconds: submitted_us,
  id: `${event_id} ${destination}`,
});

/** As the owners take it. */
export function toWaiting(position: Position | undefined): WaitingPosition | undefined {
  if (position === undefined) return undefined;
  const [event_id = '', ...destination] = position.id.split(' ');
  return { submitted_us: position.microseconds, event_id, destination: destination.join(' ') };
}
