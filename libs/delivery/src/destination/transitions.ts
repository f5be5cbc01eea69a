import type { Backoff } from '../target.js';
import type { BreakerPolicy } from './control.js';
import { coolDownMs, throttleMs } from './cool-down.js';
import { rampMs } from './ramp.js';
import { awaitsProbe, type SharedState } from './shared-state.js';

/** What a process, or a person, makes known. `token` names one lease to probe. */
export type StateEvent =
  /** Calls fail; concluded from calls that were made under `version`. */
  | { kind: 'failing'; version: number }
  | { kind: 'throttled'; afterMs?: number }
  | { kind: 'refused' }
  | { kind: 'probe_taken'; token: string; by: string }
  | { kind: 'probe_used'; token: string; lead: string }
  | { kind: 'probe_renewed'; token: string }
  | { kind: 'probe_returned'; token: string }
  | { kind: 'probe_answered'; token: string }
  | { kind: 'probe_failed'; token: string; reason: 'failing' | 'throttled' | 'auth'; afterMs?: number }
  /** The destination's own check call went well. */
  | { kind: 'check_passed'; token: string }
  | { kind: 'held'; by: string; reason: string }
  | { kind: 'released' };

export interface EventContext {
  /** The database's clock. */
  nowMs: number;
  policy: { breaker: Pick<BreakerPolicy, 'coolDownMs' | 'longestCoolDownMs'>; backoff: Backoff };
  /** In [0, 1). */
  random: number;
}

/** A probe that is under way renews it each second. */
export const probeLeaseMs = 10_000;
/** Over all processes. */
const probesPerCoolDown = 3;
const answersNeeded = 2;
const leadsRemembered = 32;

type Change = Partial<Omit<SharedState, 'version'>>;

const changed = (state: SharedState, change: Change): SharedState => ({ ...state, ...change, version: state.version + 1 });

/** The state after an event; `undefined`: it changes nothing, or came too late. */
export function transition(state: SharedState, event: StateEvent, context: EventContext): SharedState | undefined {
  switch (event.kind) {
    case 'failing':
      return state.block === undefined && state.version === event.version ? blockedAgain(state, { reason: 'failing' }, context) : undefined;
    case 'throttled':
      return throttled(state, event.afterMs, context);
    case 'refused':
      return state.block?.reason === 'auth' ? undefined : blockedAgain(state, { reason: 'auth' }, context);
    case 'held':
      return changed(state, { hold: { by: event.by, reason: event.reason, atMs: context.nowMs }, probe: undefined });
    case 'released':
      return released(state, context.nowMs);
    case 'probe_taken':
      return taken(state, event, context);
    default:
      return state.probe?.token === event.token ? ofProbe(state, event, context) : undefined;
  }
}

type ProbeEvent = Exclude<StateEvent, { kind: 'failing' | 'throttled' | 'refused' | 'held' | 'released' | 'probe_taken' }>;

function ofProbe(state: SharedState, event: ProbeEvent, context: EventContext): SharedState | undefined {
  switch (event.kind) {
    case 'probe_used':
      return changed(state, {
        probeLeads: [...state.probeLeads.filter((lead) => lead !== event.lead), event.lead].slice(-leadsRemembered),
      });
    case 'probe_renewed':
      return changed(state, { probe: lease(state.probe, context.nowMs) });
    case 'probe_returned':
      return changed(state, { probe: undefined, probes: Math.max(0, state.probes - 1) });
    case 'probe_answered':
      return answered(state, context.nowMs);
    case 'probe_failed':
      return blockedAgain(state, event, context);
    case 'check_passed':
      return ramping(state, context.nowMs);
  }
}

const lease = (probe: SharedState['probe'], nowMs: number): SharedState['probe'] => probe && { ...probe, untilMs: nowMs + probeLeaseMs };

/** One that fails again soon after it recovered has not recovered. */
function nextCoolDown({ block, coolDowns, rampAtMs }: SharedState, { nowMs, policy }: EventContext): number {
  const recovering = rampAtMs !== undefined && nowMs - rampAtMs < rampMs + policy.breaker.longestCoolDownMs;
  return block !== undefined || recovering ? coolDowns + 1 : 1;
}

interface Reason {
  reason: 'failing' | 'throttled' | 'auth';
  afterMs?: number;
}

function blockedAgain(state: SharedState, { reason, afterMs }: Reason, context: EventContext): SharedState {
  const { nowMs, policy, random } = context;
  const nth = nextCoolDown(state, context);
  const lengthMs =
    reason === 'throttled' ? throttleMs(afterMs, { backoff: policy.backoff, nth, random }) : coolDownMs(policy.breaker, nth, random);
  return blocked(state, { reason, openAtMs: Math.max(nowMs + lengthMs, state.block?.openAtMs ?? 0) }, nth);
}

function blocked(state: SharedState, block: SharedState['block'], coolDowns: number): SharedState {
  return changed(state, { block, coolDowns, rampAtMs: undefined, probe: undefined, probes: 0, answered: 0 });
}

/** Blocked already: only for longer, never for less, and refused credentials stay the reason. */
function throttled(state: SharedState, afterMs: number | undefined, context: EventContext): SharedState | undefined {
  const { block, coolDowns } = state;
  if (block === undefined) return blockedAgain(state, { reason: 'throttled', afterMs }, context);
  if (afterMs === undefined) return undefined;
  const openAtMs = context.nowMs + throttleMs(afterMs, { backoff: context.policy.backoff, nth: coolDowns, random: context.random });
  if (openAtMs <= block.openAtMs) return undefined;
  return blocked(state, { reason: block.reason === 'auth' ? 'auth' : 'throttled', openAtMs }, coolDowns);
}

/** The lease, or one more cool-down when all probes of this one were taken and none was heard of again. */
function taken(state: SharedState, { token, by }: { token: string; by: string }, context: EventContext): SharedState | undefined {
  const { block, probes } = state;
  if (block === undefined || !awaitsProbe(state, context.nowMs)) return undefined;
  if (probes >= probesPerCoolDown) return blockedAgain(state, { reason: block.reason }, context);
  return changed(state, { probe: { token, by, untilMs: context.nowMs + probeLeaseMs }, probes: probes + 1 });
}

/** Two leads in a row were answered: it works. After one the lease is kept, for another lead. */
function answered(state: SharedState, nowMs: number): SharedState {
  const count = state.answered + 1;
  if (count >= answersNeeded || state.probes >= probesPerCoolDown) return ramping(state, nowMs);
  const block = state.block && { ...state.block, openAtMs: nowMs };
  return changed(state, { block, answered: count, probes: state.probes + 1, probe: lease(state.probe, nowMs) });
}

function ramping(state: SharedState, nowMs: number): SharedState {
  return changed(state, { block: undefined, rampAtMs: nowMs, probe: undefined, probes: 0, answered: 0 });
}

/** A destination that is blocked for a reason of its own is probed at once. */
function released(state: SharedState, nowMs: number): SharedState | undefined {
  const { hold, block } = state;
  if (block !== undefined) {
    const openAtMs = Math.min(block.openAtMs, nowMs);
    return changed(state, { hold: undefined, block: { ...block, openAtMs }, probe: undefined, probes: 0 });
  }
  return hold === undefined ? undefined : changed(state, { hold: undefined, rampAtMs: nowMs });
}
