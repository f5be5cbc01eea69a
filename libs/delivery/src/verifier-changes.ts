import { type DeliveryState, deliveryState, type FailureClass, isFinal } from '#contracts';
import { type LookupResult, noReference } from './outcome.js';
import { afterAbsence, judgeLookup, type LookupVerdict } from './policy/judge-lookup.js';
import { worstOf } from './policy/worst-of.js';
import type { AttemptNote, OperationChange, StoredChange } from './stored-change.js';
import type { StoredDelivery, StoredOperation } from './stored-delivery.js';
import type { OlderRecord, SweptTarget, VerifiedTarget } from './swept-target.js';

export interface Answered {
  stored: StoredDelivery;
  operation: StoredOperation;
  /** Calls of one operation at most. */
  attemptsAllowed: number;
  note?: AttemptNote;
}

/** The first operation whose effect is unknown; everything behind it waits for the answer. */
export function firstUncertain(stored: StoredDelivery): StoredOperation | undefined {
  return stored.operations.find(({ state }) => state === 'uncertain');
}

/** When the call began whose end nobody knows, in epoch milliseconds. */
const sentAt = (stored: StoredDelivery, operation: StoredOperation): number => operation.sendingAtMs ?? stored.changedAt.getTime();

/**
 * It has been unanswered for so long that its owner is to be told, and was not told yet. `crowded`: its destination may be asked, only others
 * came first; it has its turn for as long again.
 */
export function isToBeRaised(stored: StoredDelivery, operation: StoredOperation, more: { target: SweptTarget; crowded: boolean }): boolean {
  const { horizonMs } = more.target.verification;
  const patienceMs = more.crowded ? 2 * horizonMs : horizonMs;
  return stored.raisedAt === undefined && stored.resolvedAt.getTime() >= sentAt(stored, operation) + patienceMs;
}

/** Judges a lookup that began at `beganAtMs` of the database's clock. `undefined`: nothing can be looked up. */
export function lookupVerdict(
  { stored, operation, attemptsAllowed }: Answered,
  result: LookupResult | undefined,
  { target, beganAtMs, random }: { target: SweptTarget; beganAtMs: number; random: number },
): LookupVerdict {
  const sentAtMs = sentAt(stored, operation);
  // Absences of an earlier call say nothing about this one.
  const ofThisCall = operation.lookedUpAtMs !== undefined && operation.lookedUpAtMs > sentAtMs;
  return judgeLookup(result, {
    nowMs: beganAtMs,
    sentAtMs,
    timeoutMs: target.timeoutMs,
    verification: target.verification,
    absences: ofThisCall ? operation.absences : 0,
    lookedUpAtMs: ofThisCall ? operation.lookedUpAtMs : undefined,
    raised: stored.raisedAt !== undefined,
    deadlineAtMs: stored.deadlineAt.getTime(),
    attempts: operation.attempts - operation.attemptsBefore,
    attemptsAllowed,
    random,
  });
}

/** What an uncertain delivery becomes by a verdict about its first uncertain operation. */
export function verdictChange(answered: Answered, verdict: LookupVerdict, target: Pick<VerifiedTarget, 'older'>): StoredChange {
  switch (verdict.kind) {
    case 'found':
      return lookedUpChange(answered, verdict.ref, target);
    case 'several':
      return endChange(answered, { state: 'dead', class: 'permanent', code: 'several_matches' });
    case 'absent':
      // The destination said that it is done: that no lookup finds it is no reason to do it again.
      if (answered.operation.code === noReference) return foundChange(answered, undefined);
      return absentChange(answered, verdict.next);
    case 'again':
      return againChange(answered, verdict);
  }
}

/**
 * What a record that a lookup found says about its operation. One that may be older than the call proves nothing about it, unless the
 * destination said that it was done.
 */
export function lookedUpChange(answered: Answered, ref: string, target: Pick<VerifiedTarget, 'older'>): StoredChange {
  const { code, kind } = answered.operation;
  const older = code === noReference ? undefined : target.older?.(kind);
  return older === undefined ? foundChange(answered, ref) : olderChange(answered, ref, older);
}

/**
 * The person is there, so that no record is made; what the lead says of them is written to it while another call is allowed. What was refused
 * for good is not: it ends so, and later leads of the person know the record.
 */
function olderChange(answered: Answered, ref: string, older: OlderRecord): StoredChange {
  const { stored, operation, note } = answered;
  const olderContact = { operationKey: operation.operationKey, personKey: stored.recordKey?.toString() ?? '', ref };
  const refused = refusalOf(operation);
  if (refused !== undefined) return { ...endChange(answered, { state: 'dead', ...refused }), olderContact };
  if (older === 'keep' || afterEvidence(answered) !== 'waiting') return { ...foundChange(answered, ref), olderContact };
  const code = 'contact_found';
  const again: OperationChange = { operation, state: 'waiting', code, absences: 0, lookedUp: true, note };
  const state = deliveryState(stored.operations.map((one) => (one === operation ? 'waiting' : one.state)));
  return goingOn({ stored, state, code, operations: [again], olderContact });
}

/** As what a later call of an uncertain operation was refused for good: it alone gives what is uncertain a class. */
function refusalOf({ state, class: failure, code }: StoredOperation): { class: FailureClass; code: string } | undefined {
  return state !== 'uncertain' || failure === undefined ? undefined : { class: failure, code: code ?? 'refused' };
}

/** The operation happened. What is left of the delivery goes on at once. */
export function foundChange({ stored, operation, note }: Answered, ref: string | undefined): StoredChange {
  const done: OperationChange = { operation, state: 'succeeded', ref, note };
  const states = stored.operations.map((one) => (one === operation ? 'succeeded' : one.state));
  const state = worstOf(states, { incomplete: stored.incomplete ?? false, gone: 'pending' });
  const change: StoredChange = { stored, state, operations: [done] };
  if (state === 'delivered') return change;
  return goingOn({ ...change, class: stored.class, code: stored.code });
}

/** The row of what was to be looked up is gone: the next claim finds that out and has the delivery wait for its deadline. */
export function goneChange(stored: StoredDelivery): StoredChange {
  const states = stored.operations.map(({ state }) => state);
  const state = worstOf(states, { incomplete: true, gone: 'pending' });
  return goingOn({ stored, state, class: stored.class, code: 'operations_gone', operations: [] });
}

/** Open again: due now, and woken. Still uncertain: the next lookup is due now. */
function goingOn(change: StoredChange): StoredChange {
  const { state } = change;
  if (state === 'uncertain') return { ...change, dueInMs: 0 };
  return state === 'pending' || state === 'waiting' ? { ...change, class: undefined, dueInMs: 0, wake: true } : change;
}

/** The operation did not happen: it is sent again, or ends where a later call of it was refused for good, or a limit is reached. */
export function absentChange(answered: Answered, next: ReturnType<typeof afterAbsence>): StoredChange {
  const { stored, operation, note } = answered;
  const refused = refusalOf(operation);
  if (refused !== undefined) return endChange(answered, { state: 'dead', ...refused });
  if (next === 'attempts_exhausted') return endChange(answered, { state: 'dead', class: next, code: operation.code ?? 'proved_absent' });
  if (next === 'deadline_exceeded') return endChange(answered, { state: 'expired', class: next, code: 'deadline' });
  const again: OperationChange = { operation, state: 'waiting', code: 'proved_absent', absences: 2, lookedUp: true, note };
  const state = deliveryState(stored.operations.map((one) => (one === operation ? 'waiting' : one.state)));
  return goingOn({ stored, state, code: 'proved_absent', operations: [again] });
}

/** What a person's word about an operation comes to: limits hold for it as for a lookup's. */
export function afterEvidence({ stored, operation, attemptsAllowed }: Answered): ReturnType<typeof afterAbsence> {
  return afterAbsence({
    attempts: operation.attempts - operation.attemptsBefore,
    attemptsAllowed,
    deadlineAtMs: stored.deadlineAt.getTime(),
    nowMs: stored.resolvedAt.getTime(),
  });
}

function endChange(
  { stored, operation, note }: Answered,
  { state, ...reason }: { state: 'dead' | 'expired'; class: FailureClass; code: string },
): StoredChange {
  const ended: OperationChange = { operation, state, ...reason, absences: state === 'expired' ? 2 : undefined, lookedUp: true, note };
  // At the deadline nothing behind it will be sent either.
  const rest = state === 'expired' ? stored.operations.filter((one) => one !== operation && isOpen(one)) : [];
  const operations = [ended, ...rest.map((one) => ({ operation: one, state, ...reason }))];
  const worst: DeliveryState = deliveryState(
    stored.operations.map((one) => operations.find((change) => change.operation === one)?.state ?? one.state),
  );
  const change: StoredChange = {
    stored,
    state: worst,
    ...reason,
    operations,
    deadLetter: { ...reason, operationKey: operation.operationKey },
  };
  return goingOn(change);
}

const isOpen = ({ state }: StoredOperation): boolean => !isFinal(state) && state !== 'uncertain';

function againChange({ stored, operation, note }: Answered, verdict: Extract<LookupVerdict, { kind: 'again' }>): StoredChange {
  const { absences, counted, raise, delayMs = Number.POSITIVE_INFINITY } = verdict;
  const reason = { class: operation.class, code: operation.code };
  const asked: OperationChange = { operation, state: 'uncertain', ...reason, absences, lookedUp: counted, note };
  const change: StoredChange = {
    stored,
    state: 'uncertain',
    class: stored.class,
    code: stored.code,
    operations: [asked],
    dueInMs: delayMs,
  };
  if (!raise) return change;
  return {
    ...change,
    class: 'unverified_write',
    raise,
    deadLetter: { class: 'unverified_write', code: operation.code ?? stored.code, operationKey: operation.operationKey },
  };
}
