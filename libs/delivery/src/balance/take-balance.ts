import type { BalanceSources } from './balance-sources.js';
import type { Balance } from './compare.js';

export interface BalanceOptions {
  /** Between two looks for a delivery that was found nowhere; default 1,000. */
  pauseMs?: number;
}

/** One balance over the services' internal APIs. Throws InternalUnavailable, InternalRefused. */
export function takeBalance(_sources: BalanceSources, _options: BalanceOptions = {}): Promise<Balance> {
  throw new Error('not implemented');
}
