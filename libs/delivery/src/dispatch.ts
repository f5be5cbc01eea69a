import { Bulkhead } from './bulkhead.js';
import type { DestinationControl } from './destination/control.js';
import type { GroupControl } from './engine-options.js';
import { Gate, type PauseReason } from './gate.js';
import { statementRows } from './sql/sql-batch.js';
import { WaitingWork } from './waiting-work.js';
import type { Work } from './work.js';

export interface DispatchOptions<E> {
  /** Calls in flight at once, at most. */
  concurrency: number;
  destination: DestinationControl;
  control: () => GroupControl;
  /** Takes one delivery as far as it goes; never rejects. True: a call was made. */
  deliver(work: Work<E>): Promise<boolean>;
}

/** Outcomes on their way into the table beside the calls in flight: two full statements. */
const recordsUnderWay = 2 * statementRows;
/** Until a probe is tried again that made no call. */
const probeAgainMs = 250;

/**
 * Decides which of the deliveries in hand are worked on now: all that fit while nothing stands in the way; one at a time where this process
 * finds out whether its destination is back; otherwise none, and the group is paused.
 */
export class Dispatch<E> {
  readonly #options: DispatchOptions<E>;
  readonly #window: number;
  readonly #maxAhead: number;
  readonly #gate: Gate;
  readonly #bulkhead: Bulkhead;
  readonly #waiting = new WaitingWork<E>();
  /** Claimed, or being claimed, and not yet being sent: what a crash leaves leased for nothing. */
  readonly #ahead = new Set<Work<E>>();
  #active = 0;
  #probing = false;
  #paused: 'destination' | 'state' | undefined;

  constructor(options: DispatchOptions<E>) {
    const { concurrency, destination } = options;
    this.#options = options;
    this.#maxAhead = Math.max(statementRows, 4 * concurrency);
    this.#window = this.#maxAhead + concurrency + recordsUnderWay;
    this.#gate = new Gate({ onClose: (reason) => this.#closed(reason), onOpen: (reason, open) => this.#opened(reason, open) });
    // What may not be sent has to come through and be parked, so a closed gate holds nobody here.
    this.#bulkhead = new Bulkhead(() => (this.#gate.isOpen ? Math.min(destination.limit(), concurrency) : Number.POSITIVE_INFINITY));
    destination.onMode(() => this.#steer());
    this.#steer();
  }

  /** Deliveries being worked on. */
  get active(): number {
    return this.#active;
  }

  get isOpen(): boolean {
    return this.#gate.isOpen;
  }

  /** Keeps it until its turn comes; `pump` is to follow. */
  add(work: Work<E>): void {
    this.#waiting.add(work);
  }

  /** What is kept and was claimed before: reserved for this process. */
  reserved(): Work<E>[] {
    return this.#waiting.all().filter((work) => work.leasedAt > 0);
  }

  close(reason: PauseReason): void {
    this.#gate.close(reason);
  }

  open(reason: PauseReason): void {
    this.#gate.open(reason);
  }

  /** Nothing may be sent now, of this delivery at least. */
  mustWait(work: Work<E>): boolean {
    return !this.#gate.isOpen && !(work.probe && this.#gate.admitsProbe);
  }

  /** Runs `call` with a place in the bulkhead; the next may be claimed meanwhile. */
  async inBulkhead<R>(work: Work<E>, call: () => Promise<R>): Promise<R> {
    await this.#bulkhead.enter();
    this.#ahead.delete(work);
    this.pump();
    try {
      return await call();
    } finally {
      this.#bulkhead.leave();
    }
  }

  /** Starts what may be started. */
  pump(): void {
    if (!this.#gate.isOpen) {
      this.#probe();
      return;
    }
    const room = Math.min(this.#window - this.#active, this.#maxAhead - this.#ahead.size);
    if (room <= 0) return;
    const replays = this.#options.destination.mode === 'flowing' && this.#ahead.size === 0;
    const next = this.#waiting.take(room, { replays });
    for (const work of next) void this.#run(work).then(() => this.pump());
  }

  /**
   * Follows the destination: closed while it is blocked, one call at a time while it is probed. Records come in then as well, since whoever
   * has nothing in hand cannot probe.
   */
  #steer(): void {
    const { mode, reason } = this.#options.destination;
    // Blocked for no reason: how it stands could not be read. That is a fault of ours, and who watches the group is to see one.
    const paused = mode !== 'blocked' ? undefined : reason === undefined ? 'state' : 'destination';
    if (paused !== this.#paused) {
      const before = this.#paused;
      this.#paused = paused;
      if (paused !== undefined) this.#options.control().pause(paused);
      if (before !== undefined) this.#options.control().resume(before);
    }
    if (mode === 'blocked' || mode === 'probing') this.#gate.close('destination');
    else this.#gate.open('destination');
    this.#bulkhead.refresh();
    this.pump();
  }

  /** Sends one waiting delivery past the closed gate. */
  #probe(): void {
    if (this.#probing || !this.#gate.admitsProbe || this.#options.destination.mode !== 'probing') return;
    let work = this.#waiting.takeOne();
    while (work !== undefined && isStale(work)) work = this.#waiting.takeOne();
    if (work === undefined) return;
    const probe = work;
    this.#probing = true;
    probe.probe = true;
    void this.#run(probe).then((called) => {
      probe.probe = false;
      this.#probing = false;
      if (called) this.pump();
      else setTimeout(() => this.pump(), probeAgainMs).unref();
    });
  }

  async #run(work: Work<E>): Promise<boolean> {
    if (isStale(work)) return false;
    this.#active++;
    this.#ahead.add(work);
    try {
      return await this.#options.deliver(work);
    } finally {
      this.#active--;
      this.#ahead.delete(work);
    }
  }

  #closed(reason: PauseReason): void {
    if (reason === 'database' || reason === 'vault') this.#options.control().pause(reason);
    this.#bulkhead.refresh();
  }

  #opened(reason: PauseReason, open: boolean): void {
    if (reason === 'database' || reason === 'vault') this.#options.control().resume(reason);
    if (open) this.pump();
  }
}

/** Its assignment is over and it was never claimed here: whoever owns its partition now has it. */
const isStale = (work: Work<unknown>): boolean => work.received.receipt.stale && work.leasedAt === 0;
