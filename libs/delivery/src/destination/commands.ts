import type { Database, Sql } from '#runtime';
import { cleanText } from '../sql/clean-text.js';
import type { SharedState } from './shared-state.js';
import { changeRow } from './state-sql.js';
import { type StateEvent, transition } from './transitions.js';

interface HoldRequest {
  destination: string;
  /** Who holds it: an operator's name. */
  by: string;
  /** Shown to whoever asks why nothing is sent. */
  reason: string;
}

type ReleaseRequest = Pick<HoldRequest, 'destination' | 'by'>;

/** A person's command needs no policy: no cool-down begins by it. */
const noPolicy = { breaker: { coolDownMs: 0, longestCoolDownMs: 0 }, backoff: { baseMs: 0, capMs: 0 } };

/** Stops all sending to a destination until it is released. A second hold changes who and why. Throws DatabaseUnavailable. */
export async function holdDestination(db: Database, { destination, by, reason }: HoldRequest): Promise<void> {
  await apply(db, destination, { kind: 'held', by: cleanText(by), reason: cleanText(reason) });
}

/**
 * Ends a hold; sending starts slowly. A destination that is blocked for a reason of its own is probed at once instead. Throws
 * DatabaseUnavailable.
 */
export async function releaseDestination(db: Database, { destination }: ReleaseRequest): Promise<void> {
  await apply(db, destination, { kind: 'released' });
}

function apply(db: Database, destination: string, event: StateEvent): Promise<unknown> {
  const change = (state: SharedState, nowMs: number) => transition(state, event, { nowMs, policy: noPolicy, random: 0 });
  return changeRow(db, destination, change);
}

/** Destinations whose deliveries must be `held`: a person holds them, or they refuse our credentials. */
export async function heldDestinations(sql: Sql): Promise<string[]> {
  const rows = await sql.sql<{ destination: string }>(
    'destination.held',
    `SELECT destination FROM destination_state WHERE hold_at IS NOT NULL OR (mode = 'blocked' AND reason = 'auth') ORDER BY destination`,
    [],
  );
  return rows.map(({ destination }) => destination);
}

/**
 * Destinations that refused our credentials and may be probed now: where no process has a lead of theirs at hand, one of the held ones
 * must be woken, or nobody will ever know that they are well again.
 */
export async function destinationsToProbe(sql: Sql): Promise<string[]> {
  const rows = await sql.sql<{ destination: string }>(
    'destination.to_probe',
    `SELECT destination FROM destination_state
     WHERE hold_at IS NULL AND mode = 'blocked' AND reason = 'auth' AND open_until <= clock_now() ORDER BY destination`,
    [],
  );
  return rows.map(({ destination }) => destination);
}
