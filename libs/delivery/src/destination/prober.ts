import { randomUUID } from 'node:crypto';
import type { Outcome } from '../outcome.js';
import type { AuthJudge } from './auth-judge.js';
import { bearingOf } from './bearing.js';
import type { ModeReports } from './mode-reports.js';
import { ProbeTurn } from './probe-turn.js';
import { awaitsProbe } from './shared-state.js';
import type { StateLink } from './state-link.js';
import type { StateEvent } from './transitions.js';

export interface ProberOptions {
  link: StateLink;
  judge: AuthJudge;
  reports: ModeReports;
  instanceId: string;
  /** In [0, 1). */
  random(): number;
  /** Something may stand differently now. */
  onChange(): void;
}

/** Where no other lead turns up for this long, one that was a probe already may be one again. */
const sameLeadMs = 4_000;
/** Until the next try for a turn that another process got, or that found no lead here; up to twice as long. */
const restMs = 1_000;

/** The part of a lead in an operation key: its event id. */
const leadOf = (operationKey: string): string => operationKey.split(':', 1)[0] ?? operationKey;

/** Takes this process's turns to probe a blocked destination, and makes known what came of each. */
export class Prober {
  readonly #options: ProberOptions;
  #turn: ProbeTurn | undefined;
  #taking: Promise<void> | undefined;
  #restUntilMs = 0;
  #stopped = false;

  constructor(options: ProberOptions) {
    this.#options = options;
  }

  /** A probe may be made now. */
  get isOpen(): boolean {
    return this.#turn?.isFree === true;
  }

  /** Gives the turn's token when this call may be the probe; each probe is another lead while there is another. */
  admit(operationKey: string): string | undefined {
    const turn = this.#turn;
    const lead = leadOf(operationKey);
    const used = this.#options.link.known.state?.probeLeads.includes(lead) === true;
    if (turn?.isFree !== true || (used && this.#untilAnyLeadMs() > 0)) return undefined;
    turn.call();
    this.#options.link.tell({ kind: 'probe_used', token: turn.token, lead });
    return turn.token;
  }

  /** The call was not made: another may take its place. */
  withdraw(token: string): void {
    if (this.#turn?.token === token) this.#turn.free(performance.now());
  }

  /** What a probe came to. Of a turn that was lost meanwhile nothing is said. */
  async hear(token: string, outcome: Outcome): Promise<void> {
    const bearing = bearingOf(outcome);
    if (this.#turn?.token !== token) return;
    if (bearing === 'none') return this.withdraw(token);
    this.#turn.tell();
    if (outcome.kind === 'auth') {
      const scope = await this.#options.judge.scopeOf(outcome);
      this.#tell(scope === 'lead' ? { kind: 'probe_answered', token } : { kind: 'probe_failed', token, reason: 'auth' });
    } else if (outcome.kind === 'throttled') {
      this.#tell({ kind: 'probe_failed', token, reason: 'throttled', afterMs: outcome.afterMs });
    } else this.#tell(bearing === 'failed' ? { kind: 'probe_failed', token, reason: 'failing' } : { kind: 'probe_answered', token });
  }

  /** The row has what was told. */
  told(event: StateEvent): void {
    const turn = this.#turn;
    if (event.kind === 'probe_answered' && event.token === turn?.token) turn.free(performance.now());
    this.forgetLost();
  }

  /** Another process has the lease, or nobody needs one any more. */
  forgetLost(): void {
    if (this.#turn !== undefined && this.#options.link.known.state?.probe?.token !== this.#turn.token) this.#turn = undefined;
  }

  /** Gives back what is not used and takes a turn where one is due. */
  act(): void {
    const nowMs = performance.now();
    if (this.#turn?.isFree === true && this.#turn.leftMs(nowMs) <= 0) this.#giveBack(this.#turn);
    if (this.#turn === undefined && this.#taking === undefined && nowMs >= this.#restUntilMs && this.#isDue()) {
      this.#taking = this.#take().finally(() => {
        this.#taking = undefined;
        this.#options.onChange();
      });
    }
  }

  /** True once per turn, when leads that were probes already may be the probe. */
  admitsAnyLeadNow(): boolean {
    if (this.#turn?.isFree !== true || this.#turn.anyLeadTold || this.#untilAnyLeadMs() > 0) return false;
    this.#turn.anyLeadTold = true;
    return true;
  }

  /** When to act again, in milliseconds from now; `undefined`: when something changes. */
  nextMs(): number | undefined {
    const nowMs = performance.now();
    if (this.#turn !== undefined) {
      if (!this.#turn.isFree) return undefined;
      const anyLeadMs = this.#untilAnyLeadMs();
      return Math.min(this.#turn.leftMs(nowMs), anyLeadMs > 0 ? anyLeadMs : Number.POSITIVE_INFINITY);
    }
    const { known, standing } = this.#options.link;
    const { state, nowMs: databaseMs } = known;
    if (state?.block === undefined || state.hold !== undefined) return undefined;
    if (this.#stopped || this.#taking !== undefined || standing.reason === undefined) return undefined;
    return Math.max(this.#restUntilMs - nowMs, state.block.openAtMs - databaseMs, (state.probe?.untilMs ?? 0) - databaseMs);
  }

  /** Each second: a lease must outlast what is under way. */
  async renew(): Promise<void> {
    const turn = this.#turn;
    if (turn?.isBusy !== true) return;
    const { link } = this.#options;
    await link.apply({ kind: 'probe_renewed', token: turn.token }).then(
      (reading) => link.take(reading),
      () => undefined,
    );
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#taking;
    if (this.#turn?.isFree === true) this.#giveBack(this.#turn);
  }

  #isDue(): boolean {
    const { known, standing } = this.#options.link;
    return !this.#stopped && standing.reason !== undefined && known.state !== undefined && awaitsProbe(known.state, known.nowMs);
  }

  /** The cool-down has been over for so long that there is no other lead. */
  #untilAnyLeadMs(): number {
    const { state, nowMs } = this.#options.link.known;
    return Math.max(0, (state?.block?.openAtMs ?? 0) + sameLeadMs - nowMs);
  }

  #giveBack(turn: ProbeTurn): void {
    this.#turn = undefined;
    this.#rest();
    this.#options.link.tell({ kind: 'probe_returned', token: turn.token });
  }

  #rest(): void {
    this.#restUntilMs = performance.now() + restMs * (1 + this.#options.random());
  }

  #tell(event: StateEvent): void {
    this.#options.reports.probed(event.kind === 'probe_answered' ? 'answered' : 'failed');
    this.#options.link.tell(event);
  }

  async #take(): Promise<void> {
    const { link, instanceId, judge } = this.#options;
    const token = randomUUID();
    this.#rest();
    const reading = await link.apply({ kind: 'probe_taken', token, by: instanceId }).catch(() => undefined);
    if (reading === undefined) return;
    if (reading.state.probe?.token === token) this.#turn = new ProbeTurn(token, performance.now());
    const check = reading.state.block?.reason === 'auth' ? judge.check : undefined;
    if (check !== undefined && this.#turn !== undefined) {
      this.#turn.check();
      void this.#probeByCheck(token, check);
    }
    link.take(reading);
  }

  async #probeByCheck(token: string, check: NonNullable<AuthJudge['check']>): Promise<void> {
    const { ok } = await check();
    if (this.#turn?.token !== token) return;
    this.#turn.tell();
    const { reports, link } = this.#options;
    reports.probed(ok ? 'answered' : 'failed');
    link.tell(ok ? { kind: 'check_passed', token } : { kind: 'probe_failed', token, reason: 'auth' });
  }
}
