import type { Database, Tx } from '#runtime';

export interface HoldRequest {
  destination: string;
  /** Who holds it: an operator's name. */
  by: string;
  reason: string;
}

/** Stops all sending to a destination until it is released. A second hold changes who and why. */
export function holdDestination(_db: Database, _request: HoldRequest): Promise<void> {
  throw new Error('not implemented');
}

/** Ends a hold; sending starts slowly. A destination that is blocked for another reason is probed at once. */
export function releaseDestination(_db: Database, _request: { destination: string; by: string }): Promise<void> {
  throw new Error('not implemented');
}

/** Destinations whose deliveries must be `held`: a person holds them, or they refuse our credentials. */
export function heldDestinations(_tx: Tx): Promise<string[]> {
  throw new Error('not implemented');
}
