import { operationKey } from '#contracts';
import type {
  Backoff,
  LookupResult,
  Outcome,
  PerformContext,
  PlannedDelivery,
  PlannedOperation,
  ResolvedDelivery,
  Target,
  Verification,
} from '#delivery';
import type { OutboxRow } from '#messaging';

/** The event of the rig: what a target needs, nothing more. */
export interface RigEvent {
  id: string;
  ref: string;
  deadlineMs: number;
  /** Keyed hash of a person whose contact is written; absent: none is. */
  person?: string;
  /** In place of the target's. */
  kinds?: string[];
  /** The target does not take it. */
  refused?: boolean;
}

export interface Request {
  key: string;
  at: number;
  attemptId: string;
  context: PerformContext<RigEvent>;
}

/** A destination in memory: counts every request and every record it made of them. */
export class RigCrm {
  readonly requests: Request[] = [];
  /** One entry per effect, by operation key. */
  readonly records: { key: string; ref: string }[] = [];
  private readonly answers = new Map<string, string>();
  inFlight = 0;
  maxInFlight = 0;
  /** Answers a repeated key with the stored answer. */
  native = true;
  /** What happens to a request: by default it is executed and answered. */
  behave: (key: string, execute: () => string, count: number) => Promise<Outcome> | Outcome = (_key, execute) => ({
    kind: 'succeeded',
    ref: execute(),
  });

  async receive(key: string, context: PerformContext<RigEvent>): Promise<Outcome> {
    this.requests.push({ key, at: performance.now(), attemptId: context.attemptId, context });
    const count = this.requests.filter((request) => request.key === key).length;
    this.maxInFlight = Math.max(this.maxInFlight, ++this.inFlight);
    try {
      return await this.behave(key, () => this.execute(key), count);
    } finally {
      this.inFlight--;
    }
  }

  private execute(key: string): string {
    const stored = this.answers.get(key);
    if (this.native && stored !== undefined) return stored;
    const ref = `R-${this.records.length + 1}`;
    this.records.push({ key, ref });
    this.answers.set(key, ref);
    return ref;
  }

  of(key: string): Request[] {
    return this.requests.filter((request) => request.key === key);
  }
}

export interface RigTargetOptions {
  crm: RigCrm;
  kinds?: string[];
  concurrency?: number;
  timeoutMs?: number;
  needsVault?: boolean;
  /** Calls of one operation at most; default 4. */
  attempts?: number;
  backoff?: Backoff;
  /** Whether its records can be looked up; default false. */
  lookup?: boolean;
  /** Calls of it may be repeated though it knows no keys; default false. */
  repeatable?: boolean;
}

export class RigTarget implements Target<RigEvent> {
  readonly name = 'rig';
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly verification: Verification = { maxExecutionMs: 2_000, searchLagMs: 1_000, horizonMs: 1_800_000 };
  readonly backoff: Backoff;
  readonly lookup?: () => Promise<LookupResult>;

  constructor(private readonly options: RigTargetOptions) {
    this.concurrency = options.concurrency ?? 16;
    this.timeoutMs = options.timeoutMs ?? 200;
    this.backoff = options.backoff ?? { baseMs: 20, capMs: 40 };
    if (options.lookup) this.lookup = () => Promise.resolve({ kind: 'unknown', code: 'rig' });
  }

  get nativeIdempotency(): boolean {
    return this.options.crm.native;
  }

  repeatable(): boolean {
    return this.options.repeatable ?? false;
  }

  plan(event: RigEvent): PlannedDelivery | undefined {
    if (event.ref === 'not-ours') return undefined;
    const { kinds = ['lead'], needsVault = false, attempts = 4 } = this.options;
    return {
      eventId: event.id,
      destination: this.name,
      leadRef: event.ref,
      submittedAt: new Date(),
      deadlineAt: new Date(event.deadlineMs),
      operations: (event.kinds ?? kinds).map((kind) => ({ kind, operationKey: operationKey(event.id, this.name, kind) })),
      needsVault,
      needsConsent: needsVault,
      refused: event.refused ? { class: 'invalid', code: 'no_consent' } : undefined,
      test: false,
      attempts,
      contact: event.person === undefined ? undefined : { kind: 'contact', personKey: event.person },
    };
  }

  perform(operation: PlannedOperation, context: PerformContext<RigEvent>): Promise<Outcome> {
    return this.options.crm.receive(operation.operationKey, context);
  }

  contactFields(): readonly string[] {
    return ['name', 'email'];
  }

  resolved({ event, state, record, trace, resolvedAt }: ResolvedDelivery<RigEvent>): OutboxRow[] {
    const headers = { id: event.id, traceparent: trace.traceparent, resolved_at: String(resolvedAt.getTime()) };
    return [{ topic: 'resolved', key: record.key, value: Buffer.from(state), headers }];
  }
}
