import type { DeliveryState, OperationState } from '#contracts';
import { worstOf } from './worst-of.js';

export interface LeasedOperation {
  operationKey: string;
  kind: string;
  state: OperationState;
  /** `sending_at` stands: the request may have left. */
  marked: boolean;
  /** Calls recorded since the last approval. */
  attempts: number;
}

export interface LeaseRules {
  nativeIdempotency: boolean;
  /** Calls of one operation at most. */
  attempts: number;
  canLookUp(kind: string): boolean;
  /** Operations that the delivery declared have no row any more: the next claim finds out and has it wait for its deadline. */
  incomplete: boolean;
}

export interface ExpiredOperation extends LeasedOperation {
  /** Counts as a call that nobody saw the end of. */
  attempted: boolean;
}

export interface ExpiredLease {
  state: DeliveryState;
  operations: ExpiredOperation[];
  /** Whether a wake-up is due. An uncertain delivery is not woken: sending it again could double its effect. */
  wake: boolean;
}

/**
 * What a lease that ran out leaves behind; its holder is taken for dead. Operations are in declared order.
 * With native idempotency the same request may simply be repeated, and the first open operation counts an attempt, since it may have been
 * sent; where that was the last one allowed it is looked up, or `dead` where that cannot be. Without native idempotency a marked operation
 * is `uncertain`, an unmarked one was provably not sent and is as new.
 */
export function expireLease(operations: readonly LeasedOperation[], rules: LeaseRules): ExpiredLease {
  const firstOpen = operations.findIndex(({ state }) => state === 'in_flight');
  const after = operations.map((operation, index): ExpiredOperation => {
    if (operation.state !== 'in_flight') return { ...operation, attempted: false };
    if (!rules.nativeIdempotency) return { ...operation, state: operation.marked ? 'uncertain' : 'pending', attempted: operation.marked };
    if (index !== firstOpen) return { ...operation, state: 'pending', attempted: false };
    return { ...operation, state: repeated(operation, rules), attempted: true };
  });
  const state = worstOf(
    after.map((operation) => operation.state),
    { incomplete: rules.incomplete, gone: 'pending' },
  );
  return { state, operations: after, wake: state === 'pending' || state === 'waiting' };
}

function repeated({ attempts, kind }: LeasedOperation, rules: LeaseRules): OperationState {
  if (attempts + 1 < rules.attempts) return 'pending';
  return rules.canLookUp(kind) ? 'uncertain' : 'dead';
}
