import type { BlockReason } from './control.js';
import { rampMs } from './ramp.js';

/** What is known about a destination by all processes. Times are milliseconds since 1970 by the database's clock. */
export interface SharedState {
  version: number;
  /** Nothing but probes is sent, and those from `openAtMs` on. */
  block?: { reason: Exclude<BlockReason, 'hold'>; openAtMs: number };
  /** In a row. */
  coolDowns: number;
  /** When sending began again. */
  rampAtMs?: number;
  /** The lease to probe. */
  probe?: { token: string; by: string; untilMs: number };
  /** Leases of this cool-down that were, or may have been, used. */
  probes: number;
  /** Probes in a row that were answered. */
  answered: number;
  /** The last leads that were probes, by event id. */
  probeLeads: readonly string[];
  /** A person holds it. */
  hold?: { by: string; reason: string; atMs: number };
}

export const initialState: SharedState = { version: 1, coolDowns: 0, probes: 0, answered: 0, probeLeads: [] };

export interface Standing {
  mode: 'flowing' | 'ramping' | 'blocked';
  reason?: BlockReason;
}

/** Whether a destination is sent to at this time. */
export function standingOf({ hold, block, rampAtMs }: SharedState, nowMs: number): Standing {
  if (hold !== undefined) return { mode: 'blocked', reason: 'hold' };
  if (block !== undefined) return { mode: 'blocked', reason: block.reason };
  return { mode: rampAtMs !== undefined && nowMs - rampAtMs < rampMs ? 'ramping' : 'flowing' };
}

/**
 * Not even a lookup may be made: a person holds it, its cool-down or what it asked to wait is not over, or how it stands is not known. Once that
 * time is over it may be asked, probed or not.
 */
export function isShut({ mode, reason }: Standing, { state, nowMs }: { state?: SharedState; nowMs: number }): boolean {
  if (mode !== 'blocked') return false;
  return reason === undefined || reason === 'hold' || state?.block === undefined || nowMs < state.block.openAtMs;
}

/** A process may probe now: no person holds it, its cool-down is over and nobody else probes. */
export function awaitsProbe({ hold, block, probe }: SharedState, nowMs: number): boolean {
  if (hold !== undefined || block === undefined || nowMs < block.openAtMs) return false;
  return probe === undefined || nowMs >= probe.untilMs;
}
