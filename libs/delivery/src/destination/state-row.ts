import type { SharedState } from './shared-state.js';

export interface StateRow {
  destination: string;
  version: number;
  mode: 'flowing' | 'blocked';
  reason: 'failing' | 'throttled' | 'auth' | null;
  open_until: number | null;
  cool_downs: number;
  ramp_at: number | null;
  probe_token: string | null;
  probe_by: string | null;
  probe_until: number | null;
  probes: number;
  answered: number;
  probe_leads: string[];
  hold_by: string | null;
  hold_reason: string | null;
  hold_at: number | null;
  /** The database's clock. */
  now: number;
}

const ms = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::float8`;
const time = (n: number): string => `to_timestamp($${n}::float8 / 1000)`;

/** Times as milliseconds: a Date would cut them to whole ones. `now` comes from a table `clock`. */
export const stateColumns = `destination, version, mode, reason, ${ms('open_until')} AS open_until, cool_downs, ${ms('ramp_at')} AS ramp_at,
  probe_token, probe_by, ${ms('probe_until')} AS probe_until, probes, answered, probe_leads,
  hold_by, hold_reason, ${ms('hold_at')} AS hold_at, ${ms('clock.now')} AS now`;

/** Assignments from {@link stateValues}, which begin at $3. */
export const stateAssignments = `version = version + 1, changed_at = clock.now, mode = $3, reason = $4, open_until = ${time(5)},
  cool_downs = $6, ramp_at = ${time(7)}, probe_token = $8::uuid, probe_by = $9, probe_until = ${time(10)}, probes = $11, answered = $12,
  probe_leads = $13::text[], hold_by = $14, hold_reason = $15, hold_at = ${time(16)}`;

export function toState(row: StateRow): SharedState {
  const { reason, open_until, probe_token, probe_until, hold_by, hold_at } = row;
  return {
    version: row.version,
    block: row.mode === 'blocked' ? { reason: reason ?? 'failing', openAtMs: open_until ?? row.now } : undefined,
    coolDowns: row.cool_downs,
    rampAtMs: row.ramp_at ?? undefined,
    probe: probe_token === null ? undefined : { token: probe_token, by: row.probe_by ?? '', untilMs: probe_until ?? row.now },
    probes: row.probes,
    answered: row.answered,
    probeLeads: row.probe_leads,
    hold: hold_by === null ? undefined : { by: hold_by, reason: row.hold_reason ?? '', atMs: hold_at ?? row.now },
  };
}

export function stateValues({ block, coolDowns, rampAtMs, probe, probes, answered, probeLeads, hold }: SharedState): unknown[] {
  const blocked = [block === undefined ? 'flowing' : 'blocked', block?.reason ?? null, block?.openAtMs ?? null];
  const leased = [probe?.token ?? null, probe?.by ?? null, probe?.untilMs ?? null];
  const held = [hold?.by ?? null, hold?.reason ?? null, hold?.atMs ?? null];
  return [...blocked, coolDowns, rampAtMs ?? null, ...leased, probes, answered, [...probeLeads], ...held];
}
