/** An unused turn is given back after this: another process may have leads where this one has none. */
const unusedMs = 3_000;

/**
 * This process's lease to probe. `free`: a call may be made; `calling`: it is out; `telling`: what came of it is on its way to the other
 * processes; `checking`: the destination's own check call takes the place of a lead.
 */
export class ProbeTurn {
  readonly token: string;
  #phase: 'free' | 'calling' | 'telling' | 'checking' = 'free';
  #freeSinceMs: number;
  /** The listeners were told that any lead may be the probe. */
  anyLeadTold = false;

  constructor(token: string, nowMs: number) {
    this.token = token;
    this.#freeSinceMs = nowMs;
  }

  get isFree(): boolean {
    return this.#phase === 'free';
  }

  /** Whether something is under way that the lease must outlast. */
  get isBusy(): boolean {
    return this.#phase === 'calling' || this.#phase === 'checking';
  }

  call(): void {
    this.#phase = 'calling';
  }

  check(): void {
    this.#phase = 'checking';
  }

  tell(): void {
    this.#phase = 'telling';
  }

  free(nowMs: number): void {
    this.#phase = 'free';
    this.#freeSinceMs = nowMs;
    this.anyLeadTold = false;
  }

  /** Until it is to be given back, in milliseconds. */
  leftMs(nowMs: number): number {
    return this.#freeSinceMs + unusedMs - nowMs;
  }
}
