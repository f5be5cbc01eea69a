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
  /** When the hold began that whoever commands has seen, in ISO 8601; null: there was none. Absent: whatever stands there. */
  since?: string | null;
}

type ReleaseRequest = Pick<HoldRequest, 'destination' | 'by' | 'since'>;

/** A person's command needs no policy: no cool-down begins by it. */
const noPolicy = { breaker: { coolDownMs: 0, longestCoolDownMs: 0 }, backoff: { baseMs: 0, capMs: 0 } };

/** Several people's reasons, the last one's first. */
const longestReasons = 500;

/**
 * Stops all sending to a destination until it is released. A second hold is the last one's, with the reasons of those before behind it. False,
 * and nothing is changed, where the hold that stands there is not the one that was seen. Throws DatabaseUnavailable.
 */
export function holdDestination(db: Database, { destination, by, reason, since }: HoldRequest): Promise<boolean> {
  const own = cleanText(reason);
  return apply(db, { destination, since }, ({ hold }) => {
    const before = hold === undefined ? '' : `; before, ${hold.by}: ${hold.reason}`;
    return { kind: 'held', by: cleanText(by), reason: `${own}${before}`.slice(0, longestReasons) };
  });
}

/**
 * Ends a hold; sending starts slowly. A destination that is blocked for a reason of its own is probed at once instead. False, and nothing is
 * changed, where the hold that stands there is not the one that was seen. Throws DatabaseUnavailable.
 */
export function releaseDestination(db: Database, { destination, since }: ReleaseRequest): Promise<boolean> {
  return apply(db, { destination, since }, () => ({ kind: 'released' }));
}

async function apply(
  db: Database,
  { destination, since }: Pick<HoldRequest, 'destination' | 'since'>,
  eventOf: (state: SharedState) => StateEvent,
): Promise<boolean> {
  let seen = true;
  await changeRow(db, destination, (state, nowMs) => {
    seen = since === undefined || isSame(state, since);
    return seen ? transition(state, eventOf(state), { nowMs, policy: noPolicy, random: 0 }) : undefined;
  });
  return seen;
}

function isSame({ hold }: SharedState, since: string | null): boolean {
  if (since === null || hold === undefined) return since === null && hold === undefined;
  return Math.floor(hold.atMs) === Date.parse(since);
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
