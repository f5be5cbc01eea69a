import type { Backoff, DestinationPolicy, Verification } from '#delivery';

/** Milliseconds for one call of a channel at most. */
const longestTimeoutMs = 10_000;
const concurrency = 16;

/** There is no read-back, so only the horizon counts: uncertain for that long, a notification is raised to its owner. */
const verification: Verification = { maxExecutionMs: 60_000, searchLagMs: 30_000, horizonMs: 1_800_000 };

/** How long is waited between calls of a channel. */
export interface Tempo {
  /** Between two calls of one notification. */
  backoff: Backoff;
  /** How long a channel that fails is left alone at first, and at most. */
  coolDown: Pick<DestinationPolicy['breaker'], 'coolDownMs' | 'longestCoolDownMs'>;
}

export const usualTempo: Tempo = {
  backoff: { baseMs: 15_000, capMs: 300_000 },
  coolDown: { coolDownMs: 15_000, longestCoolDownMs: 60_000 },
};

/** Of each channel apart: one that refuses or throttles holds up no other. */
export const channelPolicy = ({ backoff, coolDown }: Tempo): DestinationPolicy => ({
  concurrency,
  breaker: { window: 20, minimum: 5, ratio: 0.9, ...coolDown },
  retryBudget: 0.2,
  backoff,
});

/** How hard it is tried to tell somebody. */
export const telling = {
  concurrency,
  verification,
  /** Calls that provably sent nothing; about half an hour of them. A message that may have left is never sent again. */
  attempts: 10,
  /** A message about yesterday's lead is of no use to anybody; until then it is tried. */
  usefulForMs: 24 * 3_600_000,
  /** A call has to end well before its lease. */
  timeoutMs: (leaseMs: number): number => Math.min(longestTimeoutMs, Math.floor(leaseMs / 2)),
};
