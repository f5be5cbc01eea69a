import type { Draw, Drawn, QuotaBucket } from './quota-bucket.js';

export interface QuotaPurseOptions {
  bucket: QuotaBucket;
  draw(draw: Draw): Promise<Drawn>;
  /** Tokens to ask for at once: as many calls as may be in flight. */
  want: number;
  /** There are tokens again. */
  onTokens(): void;
}

const drawAgainMs = 1_000;
const shortestWaitMs = 5;

/** This process's part of a shared quota: tokens drawn from the row while they are wanted, void when they are not used at once. */
export class QuotaPurse {
  readonly #options: QuotaPurseOptions;
  #tokens = 0;
  #voidAtMs = 0;
  #owed = 0;
  #drawing = false;
  /** No draw before then: the bucket was empty, or the database away. */
  #drawAtMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: QuotaPurseOptions) {
    this.#options = options;
  }

  /** Tokens at hand; where there is none it draws some. */
  available(): number {
    if (performance.now() >= this.#voidAtMs) this.#tokens = 0;
    if (this.#tokens === 0) this.#ask();
    return this.#tokens;
  }

  /** Takes one and says until when, by `performance.now()`, it may be used. Undefined: there is none now. */
  take(): number | undefined {
    if (this.available() === 0) return undefined;
    this.#tokens--;
    return this.#voidAtMs;
  }

  /** Gives one back that was not used. @param voidAtMs what `take` said: one of an earlier draw would outlive its time among those of this one */
  putBack(voidAtMs: number): void {
    if (voidAtMs === this.#voidAtMs && performance.now() < voidAtMs) this.#tokens++;
  }

  /** A call that could not wait: the next draw pays for it. */
  owe(): void {
    this.#owed++;
    this.#ask();
  }

  /** Until there may be one. */
  waitMs(): number {
    return Math.max(shortestWaitMs, this.#drawAtMs - performance.now());
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#drawing = true;
  }

  #ask(): void {
    if (this.#drawing || this.#timer !== undefined) return;
    const inMs = this.#drawAtMs - performance.now();
    if (inMs <= 0) void this.#draw();
    else
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#ask();
      }, Math.ceil(inMs)).unref();
  }

  async #draw(): Promise<void> {
    this.#drawing = true;
    const askedAtMs = performance.now();
    const owed = this.#owed;
    let drawn: Drawn = { granted: 0, waitMs: drawAgainMs };
    try {
      drawn = await this.#options.draw({ want: this.#options.want, owed });
      this.#owed -= owed;
    } catch {
      // The database is away: nothing is sent for that alone, and the feed says so.
    }
    this.#drawing = false;
    if (performance.now() >= this.#voidAtMs) this.#tokens = 0;
    if (this.#tokens === 0) this.#voidAtMs = askedAtMs + this.#options.bucket.keepMs;
    this.#tokens += drawn.granted;
    this.#drawAtMs = performance.now() + drawn.waitMs;
    if (drawn.granted > 0) this.#options.onTokens();
    else this.#ask();
  }
}
