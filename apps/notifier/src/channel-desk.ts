import type { LeadResolved } from '#contracts';
import type { DeliveryEngine, GroupControl } from '#delivery';
import type { ConsumedRecord, Receipt, Received } from '#messaging';

export interface ChannelDeskOptions {
  channel: string;
  /** The group that all channels share. */
  group: () => GroupControl;
  /** Records with this channel's engine at once. */
  most: number;
}

/** While nothing may be sent the engine still has a few, so that it can find out whether the channel is back. */
const mostWhileClosed = 16;
/** Until a record comes again that found no place. The bounds keep a backlog of thousands from being looked at all the time. */
const againMs = { least: 500, most: 5_000 };

/**
 * Stands before the engine of one channel. All channels read one consumer group, which therefore cannot be paused for one of them: what a
 * channel has no place for is given back to the consumer, where it waits without a place in the window that others need.
 */
export class ChannelDesk {
  private engine: Pick<DeliveryEngine<LeadResolved>, 'take'> | undefined;
  private readonly out = new Set<CountedReceipt>();
  private closed = false;

  constructor(private readonly options: ChannelDeskOptions) {}

  /** To be called once, before the first record. */
  serve(engine: Pick<DeliveryEngine<LeadResolved>, 'take'>): void {
    this.engine = engine;
  }

  /** What this channel's engine takes for its group: its own destination closes this desk alone, what all share pauses the group. */
  readonly control: GroupControl = {
    pause: (reason) => {
      if (reason === 'destination') this.closed = true;
      else this.options.group().pause(this.ownReason(reason));
    },
    resume: (reason) => {
      if (reason === 'destination') this.closed = false;
      else this.options.group().resume(this.ownReason(reason));
    },
  };

  take(received: readonly Received<LeadResolved>[]): void {
    const taken: Received<LeadResolved>[] = [];
    for (const one of received) {
      if (!this.hasPlace()) one.receipt.redeliverIn(againMs.least + Math.random() * (againMs.most - againMs.least));
      else {
        const receipt = new CountedReceipt(one.receipt, (done) => this.out.delete(done));
        this.out.add(receipt);
        taken.push({ receipt, result: one.result, trace: one.trace });
      }
    }
    if (taken.length > 0) this.engine?.take(taken);
  }

  /** Records of an assignment that ended are never settled: they are forgotten when their place is needed. */
  private hasPlace(): boolean {
    const most = this.closed ? mostWhileClosed : this.options.most;
    if (this.out.size < most) return true;
    for (const receipt of this.out) if (receipt.stale) this.out.delete(receipt);
    return this.out.size < most;
  }

  /** One channel's resume must not end another's pause. */
  private ownReason(reason: string): string {
    return `${reason} (${this.options.channel})`;
  }
}

class CountedReceipt implements Receipt {
  constructor(
    private readonly inner: Receipt,
    private readonly done: (receipt: CountedReceipt) => void,
  ) {}

  get record(): ConsumedRecord {
    return this.inner.record;
  }

  get stale(): boolean {
    return this.inner.stale;
  }

  settle(): void {
    this.done(this);
    this.inner.settle();
  }

  redeliverIn(delayMs: number): void {
    this.done(this);
    this.inner.redeliverIn(delayMs);
  }
}
