import { crashPoint } from '#runtime';
import type { DueCommit } from './generation.js';

export interface CommitterOptions {
  everyMs: number;
  /** What lags behind now, if anything. */
  due(): DueCommit | undefined;
  onFailure(error: unknown): void;
}

/** Commits what is due, at most every so often, one commit at a time. A failed one is only tried again with what is due then. */
export class Committer {
  private timer: NodeJS.Timeout | undefined;
  private running = Promise.resolve();
  private ended = false;

  constructor(private readonly options: CommitterOptions) {}

  /** Something may be due. */
  schedule(): void {
    if (this.timer !== undefined || this.ended) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      void this.flush();
    }, this.options.everyMs);
  }

  /** Commits now; resolves when everything due at the call has been tried once. Never rejects. */
  flush(): Promise<void> {
    this.running = this.running.then(() => this.commit());
    return this.running;
  }

  end(): void {
    this.ended = true;
    clearTimeout(this.timer);
  }

  private async commit(): Promise<void> {
    const due = this.options.due();
    if (due === undefined) return;
    try {
      await due.commit(due.offsets);
      crashPoint('committed');
      due.done();
    } catch (error) {
      this.options.onFailure(error);
      this.schedule();
    }
  }
}
