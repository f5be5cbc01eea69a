import { type Answer, type IntakeClient, leadBody, type UpstreamProducer } from './traffic.js';

export interface FloodOptions {
  prefix: string;
  /** Leads of one burst. */
  burst: number;
  everyMs: number;
  /** Intake itself is ended during the flood: a connection that it refuses or cuts is tried again. Default: such a connection is a refusal. */
  intakeDies?: boolean;
}

/**
 * Leads through both doors in bursts, as a website and an upstream system would send them: the same source event id is tried again until it is answered 202 or
 * acknowledged by the broker, whatever dies in between. What HTTP promises a client then is checked at every answer: 202, or a problem with status
 * 503 (429) and a time to wait.
 */
export class LeadFlood {
  /** source event id → event id, for leads answered 202. */
  readonly accepted = new Map<string, string>();
  /** source event ids acknowledged by the broker on `leads`. */
  readonly produced: string[] = [];
  /** Everything at the HTTP door but 202 and what a client is asked to try again; by status, 0 for no answer. */
  readonly refused: { status: number; why: string }[] = [];
  /** Requests that were sent again, as their answer asked or because intake was ended. */
  turnedAway = 0;
  private readonly rates: number[] = [];
  private sent = 0;
  private running = false;
  private readonly open = new Set<Promise<void>>();
  private loop: Promise<void> = Promise.resolve();

  constructor(
    private readonly intake: IntakeClient,
    private readonly upstream: UpstreamProducer,
    private readonly options: FloodOptions,
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
    const startedAt = performance.now();
    for (let left = count; left > 0; left -= 20) {
      const posts = Math.min(10, Math.ceil(left / 2));
      for (let i = 0; i < posts; i += 1) this.track(this.postOne());
      this.track(this.produceSome(Math.min(10, Math.floor(left / 2))));
      await pause(100);
    }
    this.rates.push((count * 1_000) / (performance.now() - startedAt));
  }

  /** Ends the bursts, waits until every lead handed in has its answer, and prints how fast they were handed in. */
  async stop(): Promise<void> {
    this.running = false;
    await this.loop;
    await Promise.all(this.open);
    const rates = this.rates.toSorted((a, b) => a - b).map(Math.round);
    console.log(
      `flood ${this.options.prefix}: ${this.sent} leads in ${rates.length} bursts, handed in at ${rates[0]} to ${rates.at(-1)} leads/s ` +
        `(median ${rates[Math.floor(rates.length / 2)]}); ${this.turnedAway} requests sent again`,
    );
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
      const { answer, error } = await this.intake.post(leadBody(id, n)).then(
        (answer) => ({ answer, error: undefined }),
        (error: Error) => ({ answer: undefined, error }),
      );
      if (answer?.status === 202) {
        this.accepted.set(id, String(answer.body.event_id));
        return;
      }
      const refusal = answer === undefined ? this.failed(error) : refusalOf(answer);
      if (refusal === undefined) this.turnedAway += 1;
      else this.refused.push(refusal);
      if (refusal !== undefined && refusal.status > 0 && refusal.status < 500) return;
      await pause(200);
    }
  }

  /** No answer, or none that can be read: fine only from a process that has been ended. */
  private failed({ cause, name }: Error): { status: 0; why: string } | undefined {
    const { code } = (cause ?? {}) as { code?: string };
    if (this.options.intakeDies && code !== undefined && connectionLost.has(code)) return undefined;
    return { status: 0, why: code ?? name };
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

/** As the system and undici call a connection that is refused or ends before its answer. */
const connectionLost = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** undefined: the client is asked to send the same again, in the way that the contract says. */
function refusalOf({ status, headers, body }: Answer): { status: number; why: string } | undefined {
  const waits = Number(headers.get('retry-after')) > 0;
  const isProblem = headers.get('content-type')?.startsWith('application/problem+json') ?? false;
  if ((status === 503 || status === 429) && waits && isProblem) return undefined;
  return { status, why: `${String(body.type)}${waits ? '' : ', without Retry-After'}${isProblem ? '' : ', not as a problem'}` };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
