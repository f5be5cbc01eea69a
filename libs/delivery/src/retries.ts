import { DueTimes } from './due-times.js';
import type { Gate } from './gate.js';
import type { Work } from './work.js';

export interface RetriesOptions<E> {
  gate: Gate;
  /** Runs a work at once, past the queue: a probe. Resolves when it is over, whatever came of it. */
  run(work: Work<E>): Promise<void>;
  /** Puts a work in the queue. */
  enqueue(work: Work<E>): void;
}

/** Until the next look, while another probe is out or something else keeps the gate closed. */
const lookAgainMs = 500;
/** Until the next look at a row that another process is busy with. */
const elsewhereMs = 1_000;

/**
 * Deliveries of this process that wait for their next attempt; their receipts are settled. While the destination is paused
 * because its calls fail, the waiting ones are its probes, one at a time; the first that gets through ends the pause. Should this process
 * die, the rows stay and the sweeper wakes them.
 */
export class Retries<E> {
  readonly #options: RetriesOptions<E>;
  readonly #failed = new Set<Work<E>>();
  readonly #times = new DueTimes<Work<E>>((work) => this.#due(work));
  #probing = false;
  #stopped = false;

  constructor(options: RetriesOptions<E>) {
    this.#options = options;
  }

  /** A call failed and may be repeated in `delayMs`: its destination is paused until one gets through. */
  failed(work: Work<E>, delayMs: number): void {
    this.#options.gate.close('destination');
    this.#failed.add(work);
    this.later(work, delayMs);
  }

  /** Comes again in `inMs`. */
  later(work: Work<E>, inMs: number): void {
    if (!this.#stopped) this.#times.add(work, inMs);
  }

  /** It was given back while nothing may be sent. True when it is one of the waiting: it comes again as a probe. */
  postpone(work: Work<E>): boolean {
    if (!this.#failed.has(work)) return false;
    this.later(work, lookAgainMs);
    return true;
  }

  /** Another process is at work on it. A delivery that this process waits for is looked at again. True when it was one. */
  elsewhere(work: Work<E>): boolean {
    if (!this.#failed.has(work)) return false;
    this.later(work, elsewhereMs);
    return true;
  }

  /** It needs no more attempts from here. `proof`: the destination took it, here as the probe or through another process. */
  over(work: Work<E>, proof: boolean): void {
    const waited = this.#failed.delete(work);
    if (waited && (proof || this.#failed.size === 0)) this.#options.gate.open('destination');
  }

  /** Forgets what waits: the rows are woken by the sweeper. */
  stop(): void {
    this.#stopped = true;
    this.#times.clear();
  }

  #due(work: Work<E>): void {
    const { gate } = this.#options;
    if (gate.isOpen || !this.#failed.has(work)) this.#options.enqueue(work);
    else if (this.#probing || !gate.admitsProbe) this.later(work, lookAgainMs);
    else void this.#probe(work);
  }

  async #probe(work: Work<E>): Promise<void> {
    this.#probing = true;
    work.probe = true;
    await this.#options.run(work);
    work.probe = false;
    this.#probing = false;
  }
}
