import { outboxLanes } from '../outbox/outbox.js';
import { laneShare } from './lane-share.js';
import type { Beat, OutboxSession } from './outbox-session.js';

const beginning = '0';

/**
 * Lanes that this relay holds, and how far each was read. A lane that is another's by share is given back once nothing of it is held any more;
 * until then its rows in flight are still ours.
 */
export class Lanes {
  private readonly cursors = new Map<number, string>();
  private readonly leaving = new Set<number>();
  /** Some lane of our share is still held by another relay. */
  isShort = false;
  /** Some lane is held by another relay: it must be told about new rows. */
  hasNeighbours = false;

  /** Cursor by lane, of the lanes to read. */
  get reading(): ReadonlyMap<number, string> {
    return new Map([...this.cursors].filter(([lane]) => !this.leaving.has(lane)));
  }

  /** Highest id read in any lane. */
  get highest(): bigint {
    let most = 0n;
    for (const cursor of this.cursors.values()) if (BigInt(cursor) > most) most = BigInt(cursor);
    return most;
  }

  get isLeaving(): boolean {
    return this.leaving.size > 0;
  }

  read(lane: number, id: string): void {
    if (this.cursors.has(lane)) this.cursors.set(lane, id);
  }

  /** All lanes are read from their beginning again. */
  rewind(): void {
    for (const lane of this.cursors.keys()) this.cursors.set(lane, beginning);
  }

  clear(): void {
    this.cursors.clear();
    this.leaving.clear();
  }

  /** Follows the server's account of who is there and what we hold, and takes what is free of our share. */
  async follow(beat: Beat, session: OutboxSession): Promise<void> {
    for (const lane of [...this.cursors.keys()].filter((lane) => !beat.lanes.includes(lane))) this.forget(lane);
    const share = laneShare(session.key, beat.members, outboxLanes);
    for (const lane of this.cursors.keys()) if (!share.includes(lane)) this.leaving.add(lane);
    for (const lane of share) {
      // Rows of a lane on its way out were let go.
      if (this.leaving.delete(lane)) this.cursors.set(lane, beginning);
      else if (!this.cursors.has(lane) && (await session.lock(lane))) this.cursors.set(lane, beginning);
    }
    this.isShort = share.some((lane) => !this.cursors.has(lane));
    this.hasNeighbours = beat.members.length > 1;
  }

  async giveBack(session: OutboxSession, isHeld: (lane: number) => boolean): Promise<void> {
    for (const lane of [...this.leaving].filter((lane) => !isHeld(lane))) {
      await session.unlock(lane);
      this.forget(lane);
    }
  }

  private forget(lane: number): void {
    this.cursors.delete(lane);
    this.leaving.delete(lane);
  }
}
