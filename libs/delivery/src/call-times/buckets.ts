/** Buckets per doubling: a value is known to within 4.5 % of itself. */
const perDoubling = 8;
/** What is shorter falls into the first bucket. */
const shortestMs = 0.125;
/** Of two hours; no call takes so long. */
const lastBucket = Math.ceil(Math.log2(7_200_000 / shortestMs) * perDoubling);

/** The bucket of a duration: each is a little wider than the one before. */
export function bucketOf(ms: number): number {
  if (!(ms > shortestMs)) return 0;
  return Math.min(lastBucket, Math.ceil(Math.log2(ms / shortestMs) * perDoubling));
}

/** The middle of a bucket, in milliseconds to three digits. */
function middleOf(bucket: number): number {
  return Number((shortestMs * 2 ** ((bucket - (bucket === 0 ? 0 : 0.5)) / perDoubling)).toPrecision(3));
}

export interface Percentiles {
  /** In milliseconds, to within 4.5 %. */
  p50: number;
  p95: number;
  p99: number;
  /** Calls they are of. */
  count: number;
}

/** Percentiles of the calls counted by bucket; undefined for none. */
export function percentilesOf(counts: ReadonlyMap<number, number>): Percentiles | undefined {
  const buckets = [...counts].toSorted(([one], [other]) => one - other);
  const count = buckets.reduce((sum, [, calls]) => sum + calls, 0);
  if (count === 0) return undefined;
  const at = (share: number): number => {
    let left = Math.ceil(count * share);
    for (const [bucket, calls] of buckets) {
      left -= calls;
      if (left <= 0) return middleOf(bucket);
    }
    return 0;
  };
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), count };
}
