import { isFinal } from '#contracts';
import type { Logger, Tx } from '#runtime';
import { mayBecome } from './policy/transitions.js';
import { lockUnmarked } from './sql/verify.js';
import type { AttemptNote, StoredChange } from './stored-change.js';
import type { StoredDelivery } from './stored-delivery.js';
import type { VerifiedTarget } from './swept-target.js';
import { type Answered, lookedUpChange } from './verifier-changes.js';

export interface LateFound {
  /** As it is locked now. */
  stored: StoredDelivery;
  operationKey: string;
  ref: string;
  /** Calls of one operation at most. */
  attemptsAllowed: number;
  note?: AttemptNote;
  target: Pick<VerifiedTarget, 'nativeIdempotency' | 'older'>;
}

/**
 * What becomes of a delivery whose record was found when the lookup's lease was over: somebody had said meanwhile that it is not there, or
 * another lookup had. What is there is not written again, so it counts in any state, also against a claim whose call has not begun: that one
 * marks its call first, which is refused from now on. Undefined, it changes nothing: the operation is done already, is not this delivery's any
 * more, or its call is out, which brings its own answer. With native idempotency a claim makes no mark, and its call gets the first answer.
 *
 * A record that may be older than the call says nothing about an operation that has ended: who discarded it, or has its dead letter, keeps the
 * last word, and it is not sent again.
 */
export async function lateFound(tx: Tx, { stored, operationKey, ref, target, ...more }: LateFound): Promise<StoredChange | undefined> {
  const operation = stored.operations.find((one) => one.operationKey === operationKey);
  if (operation === undefined || !mayBecome(operation.state, 'succeeded')) return undefined;
  if (isFinal(operation.state) && target.older?.(operation.kind) !== undefined) return undefined;
  const answered = { stored, operation, ...more };
  if (stored.state !== 'in_flight') return lookedUpChange(answered, ref, target);
  if (target.nativeIdempotency || !(await lockUnmarked(tx, operationKey))) return undefined;
  return takenBack(answered, (before) => lookedUpChange(before, ref, target));
}

/** The claim is over as well: what it held beside the operation was not sent and is as it was before. */
function takenBack(answered: Answered, found: (before: Answered) => StoredChange): StoredChange {
  const { stored, operation } = answered;
  const operations = stored.operations.map((one) =>
    one.state === 'in_flight' && one !== operation ? { ...one, state: 'pending' as const } : one,
  );
  const change = found({ ...answered, stored: { ...stored, operations } });
  const rest = operations.flatMap((one, index) =>
    one === stored.operations[index] ? [] : [{ operation: one, state: one.state, class: one.class, code: one.code, keepsSent: true }],
  );
  return { ...change, operations: [...change.operations, ...rest] };
}

/** Logs what changed nothing: the call that is out may make a second record, or one that is done has made it. Of what ended otherwise nothing is to be said. */
export function foundTooLate(logger: Logger, { stored, operationKey, ref }: Pick<LateFound, 'stored' | 'operationKey' | 'ref'>): void {
  const operation = stored.operations.find((one) => one.operationKey === operationKey);
  if (operation === undefined || operation.ref === ref) return;
  if (operation.state !== 'succeeded' && isFinal(operation.state)) return;
  const fields = { event_id: stored.eventId, destination: stored.destination, operation_key: operationKey };
  if (operation.ref === undefined) logger.warn(fields, 'record found while it was being sent again');
  else logger.error({ ...fields, reason: 'duplicate' }, 'destination gave a second reference for one operation');
}
