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
}
