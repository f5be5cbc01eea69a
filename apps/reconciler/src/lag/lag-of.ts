export interface PartitionPosition {
  /** `undefined` (or the protocol's -1): the group has never committed here. */
  committed: bigint | undefined;
  /** First offset kept. */
  start: bigint;
  /** Next offset to be written. */
  end: bigint;
}

export interface PartitionLag {
  /** `undefined`: unknown, because nothing is committed. */
  lag: bigint | undefined;
  /** Offset of the next record the group will get; `undefined` where there is none or it is unknown. */
  next: bigint | undefined;
}

/**
 * How many records a group has still to read. Never negative: an end read before the commit is stale, not ahead. A commit that fell
 * under the start counts only what is still there, since no more can be read.
 */
export function lagOf({ committed, start, end }: PartitionPosition): PartitionLag {
  if (committed === undefined || committed < 0n) return { lag: undefined, next: undefined };
  const next = committed < start ? start : committed;
  return next < end ? { lag: end - next, next } : { lag: 0n, next: undefined };
}
