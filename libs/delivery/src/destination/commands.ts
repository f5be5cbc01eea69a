import { z } from 'zod';
import type { Database, Sql } from '#runtime';
import { cleanText } from '../sql/clean-text.js';
import type { SharedState } from './shared-state.js';
import { changeRow } from './state-sql.js';
import { type StateEvent, transition } from './transitions.js';

export interface HoldRequest {
  destination: string;
  /** Who holds it: an operator's name. */
  by: string;
  /** Shown to whoever asks why nothing is sent. */
  reason: string;
}

export type ReleaseRequest = Pick<HoldRequest, 'destination' | 'by'>;

const name = z.string().min(1).max(200);

/** Bodies of POST /internal/v1/deliveries:command about a destination. */
export const holdCommand = z.object({ command: z.literal('hold'), destination: name, by: name, reason: name });
export const releaseCommand = z.object({ command: z.literal('release'), destination: name, by: name, reason: name.optional() });
export type DestinationCommand = z.infer<typeof holdCommand> | z.infer<typeof releaseCommand>;

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

/** Carries out a command about a destination; the answer says whether it is held now. */
export async function commandDestination(db: Database, command: DestinationCommand): Promise<{ destination: string; held: boolean }> {
  const { destination } = command;
  if (command.command === 'hold') await holdDestination(db, command);
  else await releaseDestination(db, command);
  return { destination, held: command.command === 'hold' };
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
