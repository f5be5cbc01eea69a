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

  /** Takes up to `room` works out. `replays`: where nothing live is left, approved items may follow. */
  take(room: number, { replays }: { replays: boolean }): Work<E>[] {
    const { parked, live } = this.#lanes;
    if (parked.length > 0) return this.#cut('parked', room);
    if (live.length > 0 || !replays) return this.#cut('live', room);
    return this.#cut('replayed', room);
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
