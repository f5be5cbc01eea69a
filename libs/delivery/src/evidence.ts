import { randomUUID } from 'node:crypto';
import type { CommandRequest } from './command-request.js';
import { absenceCountsFrom } from './policy/judge-lookup.js';
import type { AttemptNote, StoredChange } from './stored-change.js';
import type { StoredDelivery, StoredOperation } from './stored-delivery.js';
import type { SweptTarget } from './swept-target.js';
import { absentChange, afterEvidence, foundChange } from './verifier-changes.js';

export type Evidence = Extract<CommandRequest, { command: 'evidence' }>;

/**
 * What a person's finding about an operation comes to. `too_early`: the call may still take effect, so that nothing seen there says nothing;
 * `countsFromMs` is when that is over, in epoch milliseconds. `under_way`: a call is being made and brings its own answer; the finding is
 * only noted.
 */
export type Weighed =
  | { kind: 'change'; change: StoredChange }
  | { kind: 'too_early'; countsFromMs: number }
  | { kind: 'under_way'; note: AttemptNote & { operationKey: string } }
  | { kind: 'unfit' };

/** Weighs a finding by the delivery as it is locked. `attemptsAllowed`: calls of one operation at most. */
export function weighEvidence(
  stored: StoredDelivery,
  { operation_key: key, finding }: Pick<Evidence, 'operation_key' | 'finding'>,
  { target, attemptsAllowed }: { target: Pick<SweptTarget, 'timeoutMs' | 'verification'>; attemptsAllowed: number },
): Weighed {
  const operation = stored.operations.find(({ operationKey }) => operationKey === key);
  if (operation === undefined) return { kind: 'unfit' };
  const ref = finding.kind === 'found' ? finding.ref : undefined;
  const note = { ...noteOf(`evidence_${finding.kind}`, operation.attempts), ref };
  const answered = { stored, operation, attemptsAllowed, note };
  if (finding.kind === 'found') {
    if (!mayBeThere(operation)) return { kind: 'unfit' };
    if (stored.state === 'in_flight') return { kind: 'under_way', note: { ...note, operationKey: key } };
    return { kind: 'change', change: foundChange(answered, finding.ref) };
  }
  if (stored.state === 'in_flight' || operation.state !== 'uncertain') return { kind: 'unfit' };
  const countsFromMs = absenceCountsFrom({ ...target, sentAtMs: operation.sendingAtMs ?? stored.changedAt.getTime() });
  if (stored.resolvedAt.getTime() < countsFromMs) return { kind: 'too_early', countsFromMs };
  return { kind: 'change', change: absentChange(answered, afterEvidence(answered)) };
}

/** A call of it was made whose effect is not known, or was denied: by a lookup, or by another person who looked too. */
function mayBeThere({ state, attempts, sendingAtMs, ref }: StoredOperation): boolean {
  switch (state) {
    case 'uncertain':
    case 'dead':
    case 'expired':
      return true;
    case 'pending':
    case 'waiting':
    case 'held':
    case 'in_flight':
      return attempts > 0 || sendingAtMs !== undefined;
    case 'succeeded':
      return ref === undefined;
    default:
      return false;
  }
}

/** What was decided stands in the log of attempts; who decided it is the operator's audit. */
export const noteOf = (outcome: string, number: number): AttemptNote => ({ attemptId: randomUUID(), number, startedAgoMs: 0, outcome });
