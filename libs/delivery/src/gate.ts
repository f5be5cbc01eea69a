/** Why an engine sends nothing for now. */
export type PauseReason = 'database' | 'vault' | 'destination' | 'stopping';

export interface GateOptions {
  onClose(reason: PauseReason): void;
  /** `open`: no reason is left. */
  onOpen(reason: PauseReason, open: boolean): void;
}

/** Open while no reason is in force. Reasons add up. */
export class Gate {
  readonly #options: GateOptions;
  readonly #reasons = new Set<PauseReason>();

  constructor(options: GateOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#reasons.size === 0;
  }

  /** True when nothing but the destination's own failures keeps it closed: a probe may pass. */
  get admitsProbe(): boolean {
    return this.#reasons.size === 1 && this.#reasons.has('destination');
  }

  has(reason: PauseReason): boolean {
    return this.#reasons.has(reason);
  }

  close(reason: PauseReason): void {
    if (this.#reasons.has(reason)) return;
    this.#reasons.add(reason);
    this.#options.onClose(reason);
  }

  open(reason: PauseReason): void {
    if (!this.#reasons.delete(reason)) return;
    this.#options.onOpen(reason, this.isOpen);
  }
}
