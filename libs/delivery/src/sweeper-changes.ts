import type { FailureClass } from '#contracts';
import { expireLease, leaseExpired } from './policy/expire-lease.js';
import { absenceCountsFrom } from './policy/judge-lookup.js';
import { passDeadline } from './policy/pass-deadline.js';
import type { OperationChange, StoredChange } from './stored-change.js';
import type { StoredDelivery, StoredOperation } from './stored-delivery.js';
import type { SweptTarget } from './swept-target.js';

type Lookups = Pick<SweptTarget, 'timeoutMs' | 'verification'>;

/** Until a lookup of a call that began then may count. Never negative. */
function untilLookupMs(sentAtMs: number, nowMs: number, { timeoutMs, verification }: Lookups): number {
  return Math.max(absenceCountsFrom({ sentAtMs, timeoutMs, verification }) - nowMs, 0);
}

/** A claim whose holder is taken for dead: due again, uncertain, or dead where that was the last call allowed. `attempts`: calls allowed. */
export function leaseChange(stored: StoredDelivery, target: SweptTarget, more: { attempts: number; random: number }): StoredChange {
  const { nativeIdempotency } = target;
  const nowMs = stored.resolvedAt.getTime();
  const leased = stored.operations.map((operation) => ({
    ...operation,
    operation,
    marked: nativeIdempotency ? operation.marked === true : operation.sendingAtMs !== undefined,
    lostBefore: operation.code === leaseExpired,
    attempts: operation.attempts - operation.attemptsBefore,
  }));
  const after = expireLease(leased, {
    nativeIdempotency,
    canLookUp: (kind) => target.canLookUp(kind),
    incomplete: stored.incomplete ?? false,
    claims: stored.claims ?? 1,
    leftMs: stored.deadlineAt.getTime() - nowMs,
    ...more,
  });
  const operations = after.operations.flatMap((one, index): OperationChange[] => {
    const operation = stored.operations[index];
    if (operation?.state !== 'in_flight') return [];
    const failed: FailureClass | undefined = one.state === 'dead' ? 'attempts_exhausted' : undefined;
    const change: OperationChange = { operation, state: one.state, class: failed, code: leaseExpired, attempted: one.attempted };
    change.keepsSent = one.state !== 'dead';
    // With native idempotency its mark, where there is one, may be of an earlier call: this one began before the lease ran out.
    if (one.doubtful && one.state !== 'dead') change.sendingAtMs = nativeIdempotency ? nowMs : operation.sendingAtMs;
    if (one.doubtful && stored.attemptId !== undefined) change.note = seenNoEnd(stored.attemptId, operation);
    return [change];
  });
  const change: StoredChange = { stored, state: after.state, code: leaseExpired, operations, wake: after.wake };
  const uncertain = operations.find(({ state }) => state === 'uncertain');
  const dead = operations.find(({ state }) => state === 'dead');
  if (after.wake) change.dueInMs = after.delayMs;
  else if (uncertain) change.dueInMs = untilLookupMs(uncertain.sendingAtMs ?? nowMs, nowMs, target);
  else if (dead) {
    change.class = 'attempts_exhausted';
    change.deadLetter = { class: 'attempts_exhausted', code: leaseExpired, operationKey: dead.operation.operationKey };
  }
  return change;
}

const seenNoEnd = (attemptId: string, { attempts }: StoredOperation) => ({
  attemptId,
  number: attempts + 1,
  startedAgoMs: 0,
  outcome: leaseExpired,
});

/** A delivery that is not in flight and whose deadline has passed: expired with a dead letter, or `uncertain` first. */
export function deadlineChange(stored: StoredDelivery, target: Lookups): StoredChange {
  const nowMs = stored.resolvedAt.getTime();
  const after = passDeadline(stored.operations, { incomplete: stored.incomplete ?? false });
  const reason = { class: 'deadline_exceeded', code: 'deadline' } as const;
  if (after.state === 'uncertain') {
    const operations = after.changed.map(({ operation, state }) => ({
      operation,
      state,
      code: 'deadline',
      sendingAtMs: operation.sendingAtMs,
      absences: 0,
    }));
    const sentAtMs = Math.max(...operations.map((change) => change.sendingAtMs ?? nowMs));
    return { stored, state: 'uncertain', code: 'deadline', operations, dueInMs: untilLookupMs(sentAtMs, nowMs, target) };
  }
  // All is done, and only the announcement is missing.
  if (after.state === 'delivered') return { stored, state: 'delivered', operations: [] };
  const operations = after.changed.map(({ operation, state }) => ({ operation, state, ...reason }));
  const failed = operations[0]?.operation.operationKey;
  // Without an operation to expire its rows are gone, which the balance names; the delivery ends all the same.
  return { stored, state: 'expired', ...reason, operations, deadLetter: { ...reason, operationKey: failed } };
}

/** A held delivery whose destination takes leads again. */
export function releaseChange(stored: StoredDelivery, dueInMs: number): StoredChange {
  const held = stored.operations.filter(({ state }) => state === 'held');
  const operations = held.map((operation) => ({
    operation,
    state: 'waiting' as const,
    class: operation.class,
    code: operation.code,
    keepsSent: true,
  }));
  return { stored, state: 'waiting', class: stored.class, code: stored.code, operations, dueInMs, wake: true };
}
