import type { Database, Logger, Tx } from '#runtime';
import type { CommandAnswer, CommandRequest } from './command-request.js';
import { holdDestination, releaseDestination } from './destination/index.js';
import { type Evidence, noteOf, weighEvidence } from './evidence.js';
import { dueNow } from './sql/due-now.js';
import { appendNotes, settle } from './sql/settle.js';
import { lockStored } from './sql/stored.js';
import { afterChange, outboxOf, type StoredChange } from './stored-change.js';
import type { StoredDelivery } from './stored-delivery.js';
import type { SweptTarget } from './swept-target.js';

export interface CommandRouteOptions {
  db: Database;
  target(destination: string): SweptTarget | undefined;
  /** A delivery was changed. Told once that is committed. */
  onChange?(after: StoredDelivery): void;
  relayWake: () => void;
  logger: Logger;
}

type DestinationCommand = Extract<CommandRequest, { command: 'hold' | 'release' }>;
type DeliveryCommand = Extract<CommandRequest, { command: 'discard' | 'evidence' }>;

/**
 * Handler of POST /internal/v1/deliveries:command. `hold` and `release` speak of a destination; `discard` ends a delivery for good, `evidence`
 * says of an uncertain operation what a person found out, `lookup` has the destination asked within a second. A command that does not fit the state changes nothing and says so.
 */
export function commandRoute(options: CommandRouteOptions): (body: CommandRequest) => Promise<CommandAnswer> {
  return async (body) => {
    switch (body.command) {
      case 'hold':
      case 'release':
        return changeDestination(options, body);
      case 'lookup':
        return lookUpNow(options, body);
      default:
        return changeDelivery(options, body);
    }
  };
}

/** Holds go by a destination's name or a channel's; under any other nobody would ever look for one. */
async function changeDestination({ db, target }: CommandRouteOptions, body: DestinationCommand): Promise<CommandAnswer> {
  const { destination, by, since } = body;
  if (target(destination)?.name !== destination) return { applied: false, reason: 'unknown_destination' };
  const done =
    body.command === 'hold'
      ? await holdDestination(db, { destination, by, reason: body.reason, since })
      : await releaseDestination(db, { destination, by, since });
  return done ? { applied: true } : { applied: false, reason: 'changed_meanwhile' };
}

async function changeDelivery(options: CommandRouteOptions, body: DeliveryCommand): Promise<CommandAnswer> {
  const { db, logger, onChange, relayWake } = options;
  const target = options.target(body.destination);
  if (target === undefined) return { applied: false, reason: 'unknown_destination' };
  const done = await db.transaction(async (tx) => decideAndWrite(tx, { body, target, logger }));
  if (done.change !== undefined) {
    relayWake();
    onChange?.(afterChange(done.change));
  }
  const fields = { event_id: body.event_id, destination: body.destination, decision: body.command, state: done.answer.state };
  logger.info({ ...fields, reason: done.answer.reason }, 'command on a delivery');
  return done.answer;
}

/** The verifier takes what is due every second; what it finds counts by the same rules, whoever asked for it. */
async function lookUpNow(options: CommandRouteOptions, body: Extract<CommandRequest, { command: 'lookup' }>): Promise<CommandAnswer> {
  const target = options.target(body.destination);
  if (target === undefined) return { applied: false, reason: 'unknown_destination' };
  const found = await dueNow(options.db, { eventId: body.event_id, destination: body.destination, operationKey: body.operation_key });
  if (found === undefined) return { applied: false, reason: 'unknown_delivery' };
  const { state, kind } = found;
  if (state !== 'uncertain' || kind === null) return { applied: false, reason: 'not_in_this_state', state };
  return target.canLookUp(kind) ? { applied: true, state } : { applied: false, reason: 'no_lookup', state };
}

interface Decided {
  answer: CommandAnswer;
  change?: StoredChange;
}

async function decideAndWrite(
  tx: Tx,
  { body, target, logger }: { body: DeliveryCommand; target: SweptTarget; logger: Logger },
): Promise<Decided> {
  const stored = await lockStored(tx, { eventId: body.event_id, destination: body.destination });
  if (stored === undefined) return { answer: { applied: false, reason: 'unknown_delivery' } };
  const change = body.command === 'discard' ? discard(stored, body) : await weigh(tx, { stored, body, target });
  if (change === undefined) return { answer: { applied: false, reason: 'not_in_this_state', state: stored.state } };
  if ('applied' in change) return { answer: change };
  await settle(tx, [change], await outboxOf(change, target, logger));
  return { change, answer: { applied: true, state: change.state } };
}

interface ToWeigh {
  stored: StoredDelivery;
  body: Evidence;
  target: SweptTarget;
}

/** The change that a person's finding makes, or the answer why it makes none. */
async function weigh(tx: Tx, { stored, body, target }: ToWeigh): Promise<StoredChange | CommandAnswer | undefined> {
  const weighed = weighEvidence(stored, body, { target, attemptsAllowed: await target.attempts(stored) });
  switch (weighed.kind) {
    case 'change':
      return weighed.change;
    case 'under_way':
      await appendNotes(tx, [{ ...weighed.note, late: true }]);
      return undefined;
    case 'too_early':
      return tooEarly(stored, weighed.countsFromMs);
    case 'unfit':
      return undefined;
  }
}

function tooEarly({ state, resolvedAt }: StoredDelivery, countsFromMs: number): CommandAnswer {
  const absence_counts_from = new Date(countsFromMs).toISOString();
  return { applied: false, reason: 'too_early', state, absence_counts_from, wait_ms: Math.ceil(countsFromMs - resolvedAt.getTime()) };
}

/** Undefined while a call is under way, and where nothing is left to discard. What may have happened needs evidence first. */
function discard(stored: StoredDelivery, { evidence: proof }: Extract<CommandRequest, { command: 'discard' }>): StoredChange | undefined {
  const left = stored.operations.filter(({ state }) => state !== 'succeeded' && state !== 'discarded' && state !== 'erased');
  const doubtful = left.some(({ state }) => state === 'uncertain');
  if (left.length === 0 || (doubtful && proof === undefined)) return undefined;
  if (left.some(({ state }) => state === 'in_flight')) return undefined;
  const operations = left.map((operation) => {
    const { class: failed, code } = operation;
    const note = noteOf('discarded', operation.attempts);
    return { operation, state: 'discarded' as const, class: failed, code, note };
  });
  return { stored, state: 'discarded', class: stored.class, code: stored.code, operations };
}
