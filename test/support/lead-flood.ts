import { type Answer, type IntakeClient, leadBody, type UpstreamProducer } from './traffic.js';

/**
 * Leads through both doors in bursts, as a website and an upstream system would send them: the same source event id is tried again until it is answered 202 or
 * acknowledged by the broker, whatever dies in between.
 */
export class LeadFlood {
  /** source event id → event id, for leads answered 202. */
  readonly accepted = new Map<string, string>();
  /** source event ids acknowledged by the broker on `leads`. */
  readonly produced: string[] = [];
  /** Answers that are neither 202 nor a fault that a client tries again. */
  readonly refused: Answer[] = [];
  private sent = 0;
  private running = false;
  private readonly open = new Set<Promise<void>>();
  private loop: Promise<void> = Promise.resolve();

  constructor(
    private readonly intake: IntakeClient,
    private readonly upstream: UpstreamProducer,
    private readonly options: { prefix: string; burst: number; everyMs: number },
  ) {}

  /** Leads handed in so far, by either door. */
  get total(): number {
    return this.sent;
  }

  /** Bursts every `everyMs` until `stop`. */
  start(): void {
    this.running = true;
    this.loop = this.run();
  }

  /** Hands in one burst, half by each door, at 200 leads a second; returns when all are on their way, not when they are answered. */
  async burst(count: number): Promise<void> {
    for (let left = count; left > 0; left -= 20) {
      const posts = Math.min(10, Math.ceil(left / 2));
      for (let i = 0; i < posts; i += 1) this.track(this.postOne());
      this.track(this.produceSome(Math.min(10, Math.floor(left / 2))));
      await pause(100);
    }
  }

  /** Ends the bursts and waits until every lead handed in has its answer. */
  async stop(): Promise<void> {
    this.running = false;
    await this.loop;
    await Promise.all(this.open);
  }

  private async run(): Promise<void> {
    while (this.running) {
      const started = Date.now();
      await this.burst(this.options.burst);
      await pause(Math.max(0, this.options.everyMs - (Date.now() - started)));
    }
  }

  private track(work: Promise<void>): void {
    const tracked = work.finally(() => this.open.delete(tracked));
    this.open.add(tracked);
  }

  private nextId(): { id: string; n: number } {
    const n = this.sent++;
    return { id: `${this.options.prefix}-${n}`, n };
  }

  private async postOne(): Promise<void> {
    const { id, n } = this.nextId();
    for (;;) {
      const answer = await this.intake.post(leadBody(id, n)).catch(() => undefined);
      if (answer?.status === 202) {
        this.accepted.set(id, String(answer.body.event_id));
        return;
      }
      if (answer && answer.status < 500 && answer.status !== 429) {
        this.refused.push(answer);
        return;
      }
      await pause(200);
    }
  }

  private async produceSome(count: number): Promise<void> {
    if (count === 0) return;
    const leads = Array.from({ length: count }, () => this.nextId());
    for (;;) {
      const sent = await this.upstream.send(leads.map(({ id, n }) => ({ sourceEventId: id, n }))).then(
        () => true,
        () => false,
      );
      if (sent) break;
      await pause(200);
    }
    this.produced.push(...leads.map(({ id }) => id));
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
