import { randomUUID } from 'node:crypto';
import type { OperationState } from '#contracts';
import type { Database, Logger, Tx } from '#runtime';
import type { CommandAnswer, CommandRequest } from './command-request.js';
import { holdDestination, releaseDestination } from './destination/index.js';
import { dueNow } from './sql/due-now.js';
import { settle } from './sql/settle.js';
import { lockStored } from './sql/stored.js';
import { type AttemptNote, afterChange, outboxOf, type StoredChange } from './stored-change.js';
import type { StoredDelivery } from './stored-delivery.js';
import type { SweptTarget } from './swept-target.js';
import { absentChange, afterEvidence, foundChange } from './verifier-changes.js';

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
  const { destination, by } = body;
  if (target(destination)?.name !== destination) return { applied: false, reason: 'unknown_destination' };
  if (body.command === 'hold') await holdDestination(db, { destination, by, reason: body.reason });
  else await releaseDestination(db, { destination, by });
  return { applied: true };
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
  const change = body.command === 'discard' ? discard(stored, body) : await evidence(stored, body, target);
  if (change === undefined) return { answer: { applied: false, reason: 'not_in_this_state', state: stored.state } };
  await settle(tx, [change], await outboxOf(change, target, logger));
  return { change, answer: { applied: true, state: change.state } };
}

/** What was decided stands in the log of attempts; who decided it is the operator's audit. */
const noteOf = (outcome: string, number: number): AttemptNote => ({ attemptId: randomUUID(), number, startedAgoMs: 0, outcome });

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

/** Undefined unless the operation is uncertain; what is dead or expired may still be shown to have happened. */
async function evidence(
  stored: StoredDelivery,
  { operation_key: key, finding }: Extract<CommandRequest, { command: 'evidence' }>,
  target: SweptTarget,
): Promise<StoredChange | undefined> {
  const operation = stored.operations.find(({ operationKey }) => operationKey === key);
  if (operation === undefined || stored.state === 'in_flight') return undefined;
  const provable: readonly OperationState[] = finding.kind === 'found' ? ['uncertain', 'dead', 'expired'] : ['uncertain'];
  if (!provable.includes(operation.state)) return undefined;
  const note = { ...noteOf(`evidence_${finding.kind}`, operation.attempts), ref: finding.kind === 'found' ? finding.ref : undefined };
  const answered = { stored, operation, note, attemptsAllowed: await target.attempts(stored) };
  return finding.kind === 'found' ? foundChange(answered, finding.ref) : absentChange(answered, afterEvidence(answered));
}
