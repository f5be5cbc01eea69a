import { type DeliveryState, deliveryState, type OperationState } from '#contracts';

export interface LeasedOperation {
  operationKey: string;
  state: OperationState;
  /** `sending_at` stands: the request may have left. */
  marked: boolean;
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
 * sent. Without it a marked operation is `uncertain`, an unmarked one was provably not sent and is as new.
 */
export function expireLease(operations: readonly LeasedOperation[], nativeIdempotency: boolean): ExpiredLease {
  const firstOpen = operations.findIndex(({ state }) => state === 'in_flight');
  const after = operations.map((operation, index): ExpiredOperation => {
    if (operation.state !== 'in_flight') return { ...operation, attempted: false };
    if (nativeIdempotency) return { ...operation, state: 'pending', attempted: index === firstOpen };
    return { ...operation, state: operation.marked ? 'uncertain' : 'pending', attempted: operation.marked };
  });
  const state = deliveryState(after.map((operation) => operation.state));
  return { state, operations: after, wake: state === 'pending' || state === 'waiting' };
}
