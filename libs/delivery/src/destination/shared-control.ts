import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '#runtime';
import type { Outcome } from '../outcome.js';
import { AuthJudge } from './auth-judge.js';
import { asksForRetry, bearingOf, isUnreached } from './bearing.js';
import { BreakerWindow } from './breaker-window.js';
import type { Admission, AuthOutcome, AuthScope, BlockReason, DestinationControl, DestinationPolicy, Mode } from './control.js';
import { type LookupDoor, lookupDoor } from './lookup-door.js';
import { ModeReports } from './mode-reports.js';
import { Prober } from './prober.js';
import { bucketOf } from './quota-bucket.js';
import { QuotaPurse } from './quota-purse.js';
import { rampedConcurrency, untilNextStepMs } from './ramp.js';
import { RetryBudget } from './retry-budget.js';
import { isShut } from './shared-state.js';
import { StateLink } from './state-link.js';
import type { StateStore } from './state-store.js';

export interface SharedControlOptions {
  store: StateStore;
  destination: string;
  policy: DestinationPolicy;
  check?(): Promise<{ ok: boolean; code?: string }>;
  logger: Logger;
  instanceId: string;
  /** In [0, 1). */
  random(): number;
}

/** A wait that ends this much later is not worth another write: the answers to calls in flight together differ by as much. */
const sameEndMs = 250;
/** Calls whose end was never reported: the oldest are forgotten. */
const mostCalls = 10_000;

/** What is not told by then is not told: a lease runs out by itself. */
const longestStopMs = 2_000;

interface Call {
  /** Counts the pauses this process has seen: a call made before one says nothing about what came after. */
  epoch: number;
  /** The turn it is the probe of. */
  token?: string;
  /** When what it took from the quota is void, by `performance.now()`. */
  voidAtMs?: number;
}

const sends = (mode: Mode): boolean => mode === 'flowing' || mode === 'ramping';

/** One process's control of one destination, over the row that all share. What it learns counts here at once and is told to the others. */
export class SharedControl implements DestinationControl {
  readonly lookups: LookupDoor;
  readonly #options: SharedControlOptions;
  readonly #link: StateLink;
  readonly #prober: Prober;
  readonly #judge: AuthJudge;
  readonly #reports: ModeReports;
  readonly #window: BreakerWindow;
  readonly #budget: RetryBudget;
  readonly #purse: QuotaPurse | undefined;
  readonly #calls = new Map<string, Call>();
  #epoch = 0;
  #toldLimit = 0;
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #stopped = false;

  constructor(options: SharedControlOptions) {
    const { policy, random, instanceId } = options;
    this.#options = options;
    const onChange = () => this.#settle(false);
    this.#link = new StateLink({
      ...options,
      onChange,
      onTick: () => this.#tick(),
      onTold: (event) => this.#prober.told(event),
    });
    this.#judge = new AuthJudge({
      check: options.check?.bind(options),
      isRefused: () => this.#link.standing.reason === 'auth',
      onRefused: () => this.#refused(),
    });
    this.#reports = new ModeReports(options);
    this.#prober = new Prober({ link: this.#link, judge: this.#judge, reports: this.#reports, instanceId, random, onChange });
    this.#window = new BreakerWindow(policy.breaker);
    this.#budget = new RetryBudget(policy.retryBudget);
    this.#purse = this.#newPurse(options);
    this.lookups = lookupDoor({
      isShut: () => this.#stopped || isShut(this.#link.standing, this.#link.known),
      purse: this.#purse,
      onThrottled: (afterMs) => {
        this.#throttled(afterMs);
        this.#settle(false);
      },
    });
  }

  get mode(): Mode {
    if (this.#stopped) return 'blocked';
    const { mode, reason } = this.#link.standing;
    return mode === 'blocked' && reason !== undefined && this.#prober.isOpen ? 'probing' : mode;
  }

  get reason(): BlockReason | undefined {
    return this.#stopped ? undefined : this.#link.standing.reason;
  }

  limit(): number {
    const limit = this.#limitByMode();
    if (this.#purse === undefined || !sends(this.mode)) return limit;
    return Math.min(limit, this.#calls.size + this.#purse.available());
  }

  admit({ operationKey, retry }: { operationKey: string; retry: boolean }): Admission {
    const { mode } = this;
    if (mode === 'blocked') return { kind: 'blocked' };
    if (mode === 'probing') return this.#admitProbe(operationKey, retry);
    const nowMs = performance.now();
    if (retry && !this.#budget.allowsRetry(nowMs)) return this.#wait('retry_budget');
    const voidAtMs = this.#purse?.take();
    if (this.#purse !== undefined && voidAtMs === undefined) return this.#wait('quota');
    this.#budget.count(retry, nowMs);
    this.#calls.set(operationKey, { epoch: this.#epoch, voidAtMs });
    return { kind: 'go' };
  }

  isStale(operationKey: string): boolean {
    return performance.now() >= (this.#calls.get(operationKey)?.voidAtMs ?? Number.POSITIVE_INFINITY);
  }

  report({ operationKey, outcome }: { operationKey: string; outcome: Outcome }): void {
    const call = this.#calls.get(operationKey);
    this.#calls.delete(operationKey);
    if (call?.token !== undefined) void this.#prober.hear(call.token, outcome);
    else this.#hear({ operationKey, outcome, epoch: call?.epoch ?? this.#epoch });
    this.#settle(false);
  }

  withdraw(operationKey: string): void {
    const call = this.#calls.get(operationKey);
    this.#calls.delete(operationKey);
    if (call === undefined) return;
    if (call.token !== undefined) this.#prober.withdraw(call.token);
    else if (call.voidAtMs !== undefined) this.#purse?.putBack(call.voidAtMs);
    this.#settle(false);
  }

  authScope(outcome: AuthOutcome): Promise<AuthScope> {
    return this.#judge.scopeOf(outcome);
  }

  onMode(listener: (mode: Mode) => void): void {
    this.#reports.listen(listener);
  }

  async start(): Promise<void> {
    await this.#link.start();
    this.#settle(false);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#purse?.stop();
    this.#reports.end();
    await Promise.race([this.#prober.stop().then(() => this.#link.flush()), delay(longestStopMs, undefined, { ref: false })]);
    await this.#link.leave();
  }

  #newPurse({ store, destination, policy }: SharedControlOptions): QuotaPurse | undefined {
    if (policy.quota === undefined) return undefined;
    const bucket = bucketOf(policy.quota);
    return new QuotaPurse({
      bucket,
      draw: (draw) => store.draw(destination, bucket, draw),
      want: policy.concurrency,
      onTokens: () => this.#settle(true),
    });
  }

  #limitByMode(): number {
    const { mode } = this;
    const { concurrency } = this.#options.policy;
    if (mode === 'blocked') return 0;
    if (mode === 'probing') return 1;
    return mode === 'flowing' ? concurrency : rampedConcurrency(concurrency, this.#rampingForMs());
  }

  #rampingForMs(): number {
    const { nowMs, state } = this.#link.known;
    return nowMs - (state?.rampAtMs ?? 0);
  }

  #admitProbe(operationKey: string, retry: boolean): Admission {
    const token = this.#prober.admit(operationKey);
    if (token === undefined) return { kind: 'blocked' };
    this.#calls.set(operationKey, { epoch: this.#epoch, token });
    this.#budget.count(retry, performance.now());
    this.#purse?.owe();
    queueMicrotask(() => this.#settle(false));
    return { kind: 'go' };
  }

  #wait(reason: 'retry_budget' | 'quota'): Admission {
    this.#reports.denied(reason);
    const { policy, random } = this.#options;
    const delayMs = reason === 'quota' ? (this.#purse?.waitMs() ?? 0) * (1 + random()) : policy.backoff.baseMs * (0.5 + random());
    return { kind: 'wait', reason, delayMs: Math.ceil(delayMs) };
  }

  #hear({ operationKey, outcome, epoch }: { operationKey: string; outcome: Outcome; epoch: number }): void {
    const bearing = bearingOf(outcome);
    if (outcome.kind === 'throttled') this.#throttled(outcome.afterMs);
    else if (outcome.kind === 'auth') void this.#judge.scopeOf(outcome);
    else if (bearing !== 'none' && epoch === this.#epoch && sends(this.mode)) {
      const nowMs = performance.now();
      this.#budget.hear(asksForRetry(outcome), nowMs);
      const seen = { operationKey, failed: bearing === 'failed', unreached: isUnreached(outcome) };
      if (this.#window.add(seen, nowMs)) this.#link.tell({ kind: 'failing', version: this.#link.known.state?.version ?? 0 });
    }
  }

  #throttled(afterMs: number | undefined): void {
    const { state, nowMs } = this.#link.known;
    const untold = this.#link.throttledForMs;
    const knownForMs = Math.max(untold ?? -1, state?.block === undefined ? -1 : state.block.openAtMs - nowMs);
    if (knownForMs < 0 || knownForMs + sameEndMs < (afterMs ?? 0)) this.#link.tell({ kind: 'throttled', afterMs });
  }

  #refused(): void {
    if (this.#link.standing.reason !== 'auth') this.#link.tell({ kind: 'refused' });
    this.#settle(false);
  }

  #tick(): void {
    void this.#prober.renew();
    for (const key of this.#calls.keys()) {
      if (this.#calls.size <= mostCalls) return;
      this.#calls.delete(key);
    }
  }

  /** Brings everything in line with how the destination stands now. */
  #settle(tokens: boolean): void {
    this.#prober.forgetLost();
    if (this.#stopped) return;
    this.#prober.act();
    const { mode, reason } = this;
    if (sends(mode) && !sends(this.#reports.mode)) {
      this.#epoch++;
      this.#window.clear();
      this.#budget.forgetAnswers();
    }
    const limit = this.#limitByMode();
    const more = mode !== 'blocked' && (tokens || limit > this.#toldLimit || this.#prober.admitsAnyLeadNow());
    this.#toldLimit = limit;
    this.#reports.tell(mode, { reason, more });
    this.#wakeLater();
  }

  /** A timer that goes off too early only looks again: every answer comes by here, and most change nothing. */
  #wakeLater(): void {
    const { freshForMs } = this.#link.known;
    const waits = [freshForMs > 0 ? freshForMs : undefined, this.#prober.nextMs()];
    if (this.mode === 'ramping') waits.push(untilNextStepMs(this.#rampingForMs()));
    const waitMs = Math.min(...waits.filter((wait) => wait !== undefined));
    const nowMs = performance.now();
    if (!Number.isFinite(waitMs) || this.#timerAtMs <= nowMs + Math.max(1, waitMs)) return;
    clearTimeout(this.#timer);
    const delayMs = Math.max(1, Math.ceil(waitMs));
    this.#timerAtMs = nowMs + delayMs;
    this.#timer = setTimeout(() => this.#look(), delayMs).unref();
  }

  #look(): void {
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    this.#settle(false);
  }
}
