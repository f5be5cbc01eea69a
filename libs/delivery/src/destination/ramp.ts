const firstShare = 0.1;
const stepMs = 1_000;
/** Doubling from a tenth: 10, 20, 40, 80 per cent, then all of it. */
const steps = Math.ceil(Math.log2(1 / firstShare));

/** From the first call after a pause to full concurrency, in milliseconds. */
export const rampMs = steps * stepMs;

/** Calls in flight at once, this long after sending began again. At least one. */
export function rampedConcurrency(concurrency: number, sinceMs: number): number {
  if (sinceMs >= rampMs) return concurrency;
  const share = firstShare * 2 ** Math.floor(Math.max(sinceMs, 0) / stepMs);
  return Math.max(1, Math.floor(concurrency * share));
}

/** Until the next step; 0 when there is none. */
export function untilNextStepMs(sinceMs: number): number {
  if (sinceMs >= rampMs) return 0;
  return sinceMs < 0 ? stepMs - sinceMs : stepMs - (sinceMs % stepMs);
}
