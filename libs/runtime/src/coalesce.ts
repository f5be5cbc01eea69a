export interface CoalesceOptions<I, O> {
  /** Items per batch at most. */
  maxBatch: number;
  /** How long the first item waits for company; 0 = until the end of the current turn of the event loop. */
  maxWaitMs: number;
  /** Batches running at once at most; while all run, items gather. */
  maxInFlight: number;
  /** Items waiting at most; one more is rejected with CoalescerFull. Default: no limit. */
  maxQueued?: number;
  /** One result per item, in order. An Error in a place rejects that item alone; a rejection rejects the whole batch. */
  run(items: I[]): Promise<(O | Error)[]>;
}

export interface Coalescer<I, O> {
  (item: I): Promise<O>;
  /** Items waiting for a batch. */
  readonly queued: number;
  /** Batches running. */
  readonly inFlight: number;
  /** Resolves once nothing waits or runs. */
  idle(): Promise<void>;
}

/** More items wait than the coalescer may hold. */
export class CoalescerFull extends Error {
  override readonly name = 'CoalescerFull';
  readonly safeMessage = true;
}

/** Gathers single items into batches for one multi-row call. Order is kept. */
export function coalesce<I, O>(options: CoalesceOptions<I, O>): Coalescer<I, O> {
  void options;
  throw new Error('not implemented');
}
