import type { Work } from './work.js';

/**
 * What an engine has in hand and is not at work on: first what it had claimed and given back, then in the order it came; everything live
 * before anything replayed.
 */
export class WaitingWork<E> {
  readonly #lanes: Record<'parked' | 'live' | 'replayed', Work<E>[]> = { parked: [], live: [], replayed: [] };

  add(work: Work<E>): void {
    const lane = work.replayed ? 'replayed' : work.leasedAt > 0 ? 'parked' : 'live';
    this.#lanes[lane].push(work);
  }

  /** Takes up to `room` works out. `replays`: where nothing live is left here, approved items may follow. */
  take(room: number, { replays }: { replays: boolean }): Work<E>[] {
    const next = this.#cut('parked', room);
    if (next.length < room) next.push(...this.#cut('live', room - next.length));
    return next.length === 0 && replays ? this.#cut('replayed', room) : next;
  }

  /** Takes the first one out. */
  takeOne(): Work<E> | undefined {
    const { parked, live, replayed } = this.#lanes;
    return parked.shift() ?? live.shift() ?? replayed.shift();
  }

  all(): Work<E>[] {
    return Object.values(this.#lanes).flat();
  }

  #cut(lane: 'parked' | 'live' | 'replayed', room: number): Work<E>[] {
    const all = this.#lanes[lane];
    if (all.length > room) return all.splice(0, room);
    this.#lanes[lane] = [];
    return all;
  }
}
