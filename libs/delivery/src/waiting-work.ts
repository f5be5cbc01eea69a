import type { Work } from './work.js';

/**
 * What an engine has in hand and is not at work on: first what it had claimed and given back, then in the order it came; everything live
 * before anything replayed.
 */
export class WaitingWork<E> {
  readonly #lanes = { parked: new Lane<Work<E>>(), live: new Lane<Work<E>>(), replayed: new Lane<Work<E>>() };

  add(work: Work<E>): void {
    const lane = work.replayed ? 'replayed' : work.leasedAt > 0 ? 'parked' : 'live';
    this.#lanes[lane].add(work);
  }

  /** Takes up to `room` works out. `replays`: where nothing live is left here, approved items may follow. */
  take(room: number, { replays }: { replays: boolean }): Work<E>[] {
    const { parked, live, replayed } = this.#lanes;
    const next = parked.take(room);
    if (next.length < room) next.push(...live.take(room - next.length));
    return next.length === 0 && replays ? replayed.take(room) : next;
  }

  /** Takes the first one out. */
  takeOne(): Work<E> | undefined {
    const { parked, live, replayed } = this.#lanes;
    return [parked, live, replayed].find(({ size }) => size > 0)?.take(1)[0];
  }

  all(): Work<E>[] {
    return Object.values(this.#lanes).flatMap((lane) => lane.all());
  }
}

/** Taken parts are left in place until they are worth a copy: thousands may wait, and they are taken one or two at a time. */
class Lane<T> {
  #items: T[] = [];
  #taken = 0;

  get size(): number {
    return this.#items.length - this.#taken;
  }

  add(item: T): void {
    this.#items.push(item);
  }

  all(): T[] {
    return this.#items.slice(this.#taken);
  }

  take(most: number): T[] {
    const from = this.#taken;
    this.#taken = Math.min(from + most, this.#items.length);
    const next = this.#items.slice(from, this.#taken);
    if (this.#taken === this.#items.length) this.#items = [];
    else if (this.#taken > 1_024 && this.#taken * 2 > this.#items.length) this.#items = this.#items.slice(this.#taken);
    else return next;
    this.#taken = 0;
    return next;
  }
}
