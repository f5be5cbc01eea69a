import { type Logger, metrics } from '#runtime';
import type { BlockReason, Mode } from './control.js';

export interface ModeReportsOptions {
  destination: string;
  logger: Logger;
}

/** Of `leads_destination_blocks_total`. */
const blockedAs: readonly (BlockReason | 'unknown')[] = ['failing', 'throttled', 'auth', 'hold', 'unknown'];

/** Of `leads_circuit_open`. */
const openFor: readonly BlockReason[] = ['failing', 'throttled', 'auth'];

/** Tells listeners, metrics and the log how a destination stands. */
export class ModeReports {
  readonly #destination: string;
  readonly #logger: Logger;
  readonly #listeners: ((mode: Mode) => void)[] = [];
  #mode: Mode = 'blocked';
  #reason: BlockReason | undefined;

  constructor({ destination, logger }: ModeReportsOptions) {
    this.#destination = destination;
    this.#logger = logger;
    // From 0 on, so that the first block counts as an increase.
    for (const reason of blockedAs) metrics.destinationBlocks.inc({ destination, reason }, 0);
  }

  /** The last mode that was told. */
  get mode(): Mode {
    return this.#mode;
  }

  listen(listener: (mode: Mode) => void): void {
    this.#listeners.push(listener);
  }

  /** `more`: the mode may be the same, but more may be sent than before. */
  tell(mode: Mode, { reason, more }: { reason?: BlockReason; more: boolean }): void {
    const changed = mode !== this.#mode || reason !== this.#reason;
    if (changed) this.#note(mode, reason);
    this.#mode = mode;
    this.#reason = reason;
    if (changed || more) for (const listener of this.#listeners) listener(this.#mode);
  }

  /** This process sends no more, which says nothing about the destination. */
  end(): void {
    if (this.#mode === 'blocked') return;
    this.#mode = 'blocked';
    for (const listener of this.#listeners) listener('blocked');
  }

  denied(reason: 'retry_budget' | 'quota'): void {
    metrics.requestsDenied.inc({ destination: this.#destination, reason });
  }

  probed(result: 'answered' | 'failed'): void {
    metrics.destinationProbes.inc({ destination: this.#destination, result });
  }

  #note(mode: Mode, reason: BlockReason | undefined): void {
    const destination = this.#destination;
    for (const open of openFor) metrics.circuitOpen.set({ destination, reason: open }, reason === open ? 1 : 0);
    metrics.destinationHeld.set({ destination }, reason === 'hold' ? 1 : 0);
    if (mode === 'probing' || this.#mode === 'probing') return;
    if (mode !== 'blocked') {
      this.#logger.info({ destination, state: mode }, 'sending to a destination');
      return;
    }
    metrics.destinationBlocks.inc({ destination, reason: reason ?? 'unknown' });
    const line = { destination, state: mode, reason: reason ?? 'unknown' };
    if (reason === 'auth') this.#logger.error(line, 'a destination refuses our credentials: nothing is sent to it');
    else this.#logger.warn(line, 'nothing is sent to a destination');
  }
}
