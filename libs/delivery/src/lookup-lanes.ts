export interface LookupLanesOptions {
  /** Destinations with places of their own. All others share. */
  own: readonly string[];
  /** Of one of these: how many. */
  places(destination: string): number;
  /** Of all others together; half as many of one of them. */
  shared: number;
}

/** The lane of all destinations that have none of their own. No destination has this name. */
const sharedLane = '';

/**
 * Who may be looked up now: a bulkhead per destination, and the pace of the rounds. A round that filled a lane has probably left something
 * due, so the next one begins as soon as a place of it is free; otherwise it begins by the clock.
 */
export class LookupLanes {
  readonly #options: LookupLanesOptions;
  readonly #busy = new Map<string, number>();
  readonly #full = new Set<string>();
  readonly #restUntil = new Map<string, number>();
  #more = false;
  #wake: () => void = () => undefined;

  constructor(options: LookupLanesOptions) {
    this.#options = options;
  }

  /** Destinations with a lane of their own that have room now, and how much. */
  rooms(shut: readonly string[]): Map<string, number> {
    const open = this.#options.own.filter((destination) => !shut.includes(destination) && !this.#rests(destination));
    return new Map(open.map((destination) => [destination, this.roomOf(destination)] as const).filter(([, room]) => room > 0));
  }

  /** Places left for one destination. */
  roomOf(destination: string): number {
    const { own, places } = this.#options;
    return own.includes(destination) ? places(destination) - (this.#busy.get(destination) ?? 0) : this.sharedRoom();
  }

  sharedRoom(): number {
    const taken = [...this.#busy].reduce((sum, [destination, count]) => sum + (this.#laneOf(destination) === sharedLane ? count : 0), 0);
    return Math.max(this.#options.shared - taken, 0);
  }

  /** Destinations that are to be left out of the shared lane. */
  sharedSkip(): string[] {
    const full = [...this.#busy].filter(([, count]) => count >= this.#options.shared / 2).map(([destination]) => destination);
    const resting = [...this.#restUntil.keys()].filter((destination) => this.#rests(destination));
    return [...this.#options.own, ...full, ...resting];
  }

  /** A round took `count` rows of the lane of a destination that had this much room; `destination` absent: of the shared one. */
  taken(count: number, room: number, destination = sharedLane): void {
    const lane = this.#laneOf(destination);
    if (count >= room) this.#full.add(lane);
    else this.#full.delete(lane);
  }

  begin(destination: string): void {
    this.#busy.set(destination, (this.#busy.get(destination) ?? 0) + 1);
  }

  end(destination: string): void {
    const left = (this.#busy.get(destination) ?? 1) - 1;
    if (left > 0) this.#busy.set(destination, left);
    else this.#busy.delete(destination);
    if (!this.#full.has(this.#laneOf(destination))) return;
    this.#more = true;
    this.#wake();
  }

  /** Nothing of it is taken for a while: what was taken could not be asked. */
  rest(destination: string, forMs: number): void {
    this.#restUntil.set(destination, performance.now() + forMs);
    this.#full.delete(destination);
  }

  /** The round failed: the next one begins by the clock. */
  failed(): void {
    this.#full.clear();
  }

  /** Resolves once another round is due: `everyMs` after this one at the latest, or when it is `woken`. */
  async pause(everyMs: number): Promise<void> {
    if (!this.#more) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, everyMs).unref();
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#more = false;
  }

  /** Ends the pause. */
  wake(): void {
    this.#more = true;
    this.#wake();
  }

  #rests(destination: string): boolean {
    if ((this.#restUntil.get(destination) ?? 0) > performance.now()) return true;
    this.#restUntil.delete(destination);
    return false;
  }

  #laneOf(destination: string): string {
    return this.#options.own.includes(destination) ? destination : sharedLane;
  }
}
