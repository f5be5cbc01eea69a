import type { ComparedRecord } from '../replays/changed-since.js';

/** What an approved item allows: one more round of the same operations under the same keys, once. Travels signed on a replay topic. */
export interface Permit {
  batchId: string;
  /** Applied at most once: a delivery whose row names it already takes it no more. */
  itemId: string;
  eventId: string;
  destination: string;
  operationKeys: readonly string[];
  /** The item may not be claimed later than this. */
  notAfter: Date;
  /** The delivery's deadline from the claim on; the old one stays beside it. */
  deadlineAt: Date;
  /** Mapping to make the request with; absent: the one that was pinned. */
  mappingVersion?: number;
  /** The lead was corrected, or differs at the destination: what becomes of each operation. What is not named here is tried again under its own key. */
  repair?: Repair;
}

/** Keys as they are now, of the generation that was looked at. */
export interface Repair {
  /** Another one is not what was approved. */
  generation: number;
  /** Succeeded, by our rows or by what a lookup found; to be changed at the destination, in a new generation. */
  renew: readonly RepairedOperation[];
  /** Found at the destination though it did not succeed here; not to be changed. */
  adopt: readonly RepairedOperation[];
  /** Succeeded here, and not there any more: to be made anew in a new generation, without the reference that it had. Default: none. */
  forget?: readonly RepairedOperation[];
}

export interface RepairedOperation {
  operationKey: string;
  /** The destination's reference, where it is known. */
  ref?: string;
  /** The record as it was compared: it is changed only while nobody has written it since. Absent: whoever approved wants it changed. */
  compared?: ComparedRecord;
}
