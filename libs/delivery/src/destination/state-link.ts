import type { Logger } from '#runtime';
import type { DestinationPolicy } from './control.js';
import { KnownState } from './known-state.js';
import type { Standing } from './shared-state.js';
import type { Reading, StateStore } from './state-store.js';
import { type StateEvent, transition } from './transitions.js';
import { Untold } from './untold.js';

export interface StateLinkOptions {
  store: StateStore;
  destination: string;
  policy: DestinationPolicy;
  logger: Logger;
  /** In [0, 1). */
  random(): number;
  /** Something may stand differently now. */
  onChange(): void;
  /** Each second. */
  onTick(): void;
  /** Told, in order, once a told event is in the row or was found too late. */
  onTold(event: StateEvent): void;
}

/** This process's end of the row: what it says, and what is to be said. */
export class StateLink {
  readonly known = new KnownState();
  readonly #options: StateLinkOptions;
  readonly #untold = new Untold();
  #telling: Promise<void> | undefined;
  /** The last try to tell failed: said once. */
  #failed = false;
  #leave: (() => Promise<void>) | undefined;

  constructor(options: StateLinkOptions) {
    this.#options = options;
  }

  /** What the row says, unless this process knows better already. */
  get standing(): Standing {
    const { standing } = this.known;
    const { reason } = this.#untold;
    return standing.mode === 'blocked' || reason === undefined ? standing : { mode: 'blocked', reason };
  }

  get throttledForMs(): number | undefined {
    return this.#untold.throttledForMs;
  }

  async start(): Promise<void> {
    const { store, destination, onChange } = this.#options;
    this.#leave = await store.watch({
      destination,
      onReading: (reading) => this.take(reading),
      onTick: () => {
        void this.flush();
        this.#options.onTick();
        onChange();
      },
    });
  }

  /** Reads no more. */
  async leave(): Promise<void> {
    await this.#leave?.();
  }

  /** It counts here at once; the others are told, again each second while the database is away. */
  tell(event: StateEvent): void {
    this.#untold.add(event);
    void this.flush();
  }

  /** Applies an event now or not at all. Throws DatabaseUnavailable. */
  async apply(event: StateEvent): Promise<Reading> {
    const { store, destination, policy, random } = this.#options;
    return store.change(destination, (state, nowMs) => transition(state, event, { nowMs, policy, random: random() }));
  }

  /** Goes by a reading. */
  take(reading: Reading): void {
    this.known.take(reading);
    this.#options.onChange();
  }

  /** Tells what is untold. Never rejects. */
  flush(): Promise<void> {
    this.#telling ??= this.#tellAll().finally(() => {
      this.#telling = undefined;
    });
    return this.#telling;
  }

  async #tellAll(): Promise<void> {
    for (let event = this.#untold.first; event !== undefined; event = this.#untold.first) {
      try {
        const reading = await this.apply(event);
        this.#untold.shift();
        this.known.take(reading);
      } catch (error) {
        const { logger, destination } = this.#options;
        if (!this.#failed) logger.warn({ err: error, destination }, 'the other processes cannot be told about a destination; tried again');
        this.#failed = true;
        return;
      }
      this.#failed = false;
      this.#options.onTold(event);
      this.#options.onChange();
    }
  }
}
