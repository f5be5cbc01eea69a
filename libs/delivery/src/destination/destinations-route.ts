import { z } from 'zod';
import type { Sql } from '#runtime';
import type { BlockReason, Mode } from './control.js';
import { standingOf } from './shared-state.js';
import { type StateRow, toState } from './state-row.js';
import { readAllRows } from './state-sql.js';

export const destinationsRequest = z.object({});

export interface DestinationItem {
  destination: string;
  /** `probing`: blocked, and a process probes it at this moment. */
  mode: Mode;
  reason?: BlockReason;
  hold?: { by: string; reason: string; at: string };
  /** ISO 8601: no probe before then. */
  open_until?: string;
  /** In a row; 0 while it is not blocked. */
  cool_downs: number;
  /** ISO 8601, the database's clock. */
  as_of: string;
}

export interface DestinationsAnswer {
  items: DestinationItem[];
}

/** Handler of POST /internal/v1/destinations:state: every destination that was ever sent to or held here, by name. */
export function destinationsRoute(db: Sql): () => Promise<DestinationsAnswer> {
  return async () => ({ items: (await readAllRows(db)).map(toItem) });
}

function toItem(row: StateRow): DestinationItem {
  const state = toState(row);
  const { block, hold, probe } = state;
  const standing = standingOf(state, row.now);
  const probed = standing.mode === 'blocked' && hold === undefined && probe !== undefined && row.now < probe.untilMs;
  return {
    destination: row.destination,
    mode: probed ? 'probing' : standing.mode,
    reason: standing.reason,
    hold: hold && { by: hold.by, reason: hold.reason, at: iso(hold.atMs) },
    open_until: block && iso(block.openAtMs),
    cool_downs: block === undefined ? 0 : state.coolDowns,
    as_of: iso(row.now),
  };
}

const iso = (ms: number): string => new Date(ms).toISOString();
