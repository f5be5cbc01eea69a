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

interface Waiting<I, O> {
  item: I;
  resolve(result: O): void;
  reject(error: unknown): void;
}

/**
 * Gathers single items into batches for one multi-row call, in order of arrival. Items that arrive while all batches run make the next
 * batch larger, so that throughput rises with load and a lone item still goes out at once.
 */
export function coalesce<I, O>(options: CoalesceOptions<I, O>): Coalescer<I, O> {
  const gatherer = new Gatherer(options);
  const add = (item: I): Promise<O> => gatherer.add(item);
  return Object.defineProperties(add, {
    queued: { get: () => gatherer.queued },
    inFlight: { get: () => gatherer.inFlight },
    idle: { value: () => gatherer.idle() },
  }) as Coalescer<I, O>;
}

class Gatherer<I, O> {
  inFlight = 0;
  private waiting: Waiting<I, O>[] = [];
  private cancelLook: (() => void) | undefined;
  private whenIdle: (() => void)[] = [];
  private readonly maxQueued: number;

  constructor(private readonly options: CoalesceOptions<I, O>) {
    this.maxQueued = options.maxQueued ?? Number.POSITIVE_INFINITY;
  }

  get queued(): number {
    return this.waiting.length;
  }

  add(item: I): Promise<O> {
    if (this.waiting.length >= this.maxQueued) return Promise.reject(new CoalescerFull(`More than ${this.maxQueued} items wait`));
    return new Promise<O>((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (this.waiting.length >= this.options.maxBatch) this.startFull();
      if (this.waiting.length > 0) this.schedule();
    });
  }

  idle(): Promise<void> {
    if (this.inFlight === 0 && this.waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.whenIdle.push(resolve));
  }

  /** Arranges for a look at the queue; while every batch runs, the end of one arranges it. */
  private schedule(): void {
    if (this.cancelLook !== undefined || this.inFlight >= this.options.maxInFlight) return;
    const look = () => {
      this.cancelLook = undefined;
      this.startFull();
      if (this.waiting.length > 0 && this.inFlight < this.options.maxInFlight) this.start();
    };
    if (this.options.maxWaitMs > 0) {
      const timer = setTimeout(look, this.options.maxWaitMs);
      this.cancelLook = () => clearTimeout(timer);
    } else {
      const immediate = setImmediate(look);
      this.cancelLook = () => clearImmediate(immediate);
    }
  }

  private startFull(): void {
    while (this.waiting.length >= this.options.maxBatch && this.inFlight < this.options.maxInFlight) this.start();
    if (this.waiting.length > 0) return;
    this.cancelLook?.();
    this.cancelLook = undefined;
  }

  private start(): void {
    const { maxBatch } = this.options;
    let batch = this.waiting;
    if (batch.length <= maxBatch) this.waiting = [];
    else batch = this.waiting.splice(0, maxBatch);
    this.inFlight += 1;
    void this.run(batch);
  }

  private async run(batch: Waiting<I, O>[]): Promise<void> {
    try {
      const results = await this.options.run(batch.map(({ item }) => item));
      if (results.length !== batch.length) throw new Error(`A batch of ${batch.length} items gave ${results.length} results`);
      for (const [index, waiting] of batch.entries()) settle(waiting, results[index] as O | Error);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    this.inFlight -= 1;
    this.startFull();
    if (this.waiting.length > 0) this.schedule();
    else if (this.inFlight === 0) this.becomeIdle();
  }

  private becomeIdle(): void {
    const waiters = this.whenIdle;
    this.whenIdle = [];
    for (const resolve of waiters) resolve();
  }
}

function settle<I, O>(waiting: Waiting<I, O>, result: O | Error): void {
  if (result instanceof Error) waiting.reject(result);
  else waiting.resolve(result);
}
