import type { DestinationPolicy } from '#delivery';
import type { DestinationConfig } from '#runtime';

/** What the site file leaves to us: outcomes that the breaker judges by. */
const judged = { window: 20, minimum: 5, ratio: 0.9 } as const;

/** What one process may ask of a destination. */
export function destinationPolicy(config: DestinationConfig): DestinationPolicy {
  const { concurrency, retryBudget, quota, backoff } = config;
  return { concurrency, retryBudget, quota, backoff, breaker: { ...judged, ...config.breaker } };
}
