import type { InternalClient, Logger } from '#runtime';

/** A batch that has not ended: its items may be claimed, or may not for now. */
export type OpenBatchState = 'running' | 'paused';

/** Answer of the operator's batches:state: every batch that has not ended, and the operator's time. */
export interface BatchStatesAnswer {
  /** ISO 8601, the operator's database's clock. */
  as_of: string;
  items: { batch_id: string; state: OpenBatchState }[];
}

/** `ended`: finished, stopped or never begun. `now`: the operator's time. */
export interface BatchState {
  state: OpenBatchState | 'ended';
  now: Date;
}

export interface BatchStatesOptions {
  operator: Pick<InternalClient, 'post'>;
  logger: Logger;
  /** Milliseconds that only ever grow. */
  elapsedMs: () => number;
}

interface Answer {
  /** When it was asked for: what happened later it cannot know. */
  askedAtMs: number;
  asOfMs: number;
  states: ReadonlyMap<string, OpenBatchState>;
}

/** Asked anew after this. */
const freshMs = 1_000;
/** Older than this it is worth nothing: whoever stopped a batch must be able to rely on it. */
const trustedMs = 5_000;

/** What the operator says of its batches, asked only while items come in, at most once a second for a batch that is known. */
export class BatchStates {
  private answer: Answer | undefined;
  private asking: Promise<boolean> | undefined;

  constructor(private readonly options: BatchStatesOptions) {}

  /** Undefined while the operator does not answer and what it said last is older than 5 s. Never rejects. */
  async stateOf(batchId: string): Promise<BatchState | undefined> {
    const calledAtMs = this.options.elapsedMs();
    if (this.ageMs <= freshMs && this.answer?.states.has(batchId)) return this.tell(this.answer, batchId);
    // An answer that was asked for before this call may be older than the batch; the one after it is not.
    for (let answered = true; answered; ) {
      answered = await this.ask();
      const { answer } = this;
      if (answer === undefined || this.ageMs > trustedMs) continue;
      if (answer.states.has(batchId) || answer.askedAtMs >= calledAtMs) return this.tell(answer, batchId);
    }
    return undefined;
  }

  private get ageMs(): number {
    return this.answer === undefined ? Number.POSITIVE_INFINITY : this.options.elapsedMs() - this.answer.askedAtMs;
  }

  private tell(answer: Answer, batchId: string): BatchState {
    const sinceMs = this.options.elapsedMs() - answer.askedAtMs;
    return { state: answer.states.get(batchId) ?? 'ended', now: new Date(answer.asOfMs + sinceMs) };
  }

  /** True when there was an answer. Callers at the same time share one request. */
  private ask(): Promise<boolean> {
    this.asking ??= this.askNow().finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }

  private async askNow(): Promise<boolean> {
    const { operator, logger, elapsedMs } = this.options;
    const askedAtMs = elapsedMs();
    try {
      const { as_of, items } = await operator.post<BatchStatesAnswer>('/internal/v1/batches:state', {});
      this.answer = {
        askedAtMs,
        asOfMs: Date.parse(as_of),
        states: new Map(items.map(({ batch_id, state }) => [batch_id, state])),
      };
      return true;
    } catch (err) {
      logger.warn({ err }, 'The state of replay batches cannot be asked for; their items wait');
      return false;
    }
  }
}
