import { setTimeout as delay } from 'node:timers/promises';

/** Lets calls through one after another, so many per second at most. */
export class Pace {
  private nextAt = 0;

  /** @param perSecond calls; a share of the destination's quota where it has one */
  constructor(private readonly perSecond: number) {}

  /** Resolves when the next call may begin. Rejects with AbortError. */
  async turn(signal: AbortSignal): Promise<void> {
    const now = performance.now();
    const at = Math.max(now, this.nextAt);
    this.nextAt = at + 1_000 / this.perSecond;
    // A timer counts from the beginning of its turn of the event loop: it may fire a millisecond early.
    for (let leftMs = at - now; leftMs > 0; leftMs = at - performance.now()) await delay(Math.ceil(leftMs), undefined, { signal });
  }
}
