import { type DeliveryState, isFinal, type OperationState } from '#contracts';
import { worstOf } from './worst-of.js';

export interface DueOperation {
  operationKey: string;
  kind: string;
  state: OperationState;
  /** When the last call began that may have been executed although nobody saw its effect; absent: there was none. */
  sendingAtMs?: number;
}

export interface PassedDeadline<O extends DueOperation> {
  state: DeliveryState;
  /** Those whose state changes. */
  changed: { operation: O; state: OperationState }[];
}

export interface DeadlineRules {
  /** Operations that the delivery declared have no row any more: they expire as the others do. */
  incomplete: boolean;
}

/**
 * What a delivery that is not in flight becomes when its deadline has passed: what is open expires. An operation that may have been executed
 * after all is `uncertain` first and expires only once it is proved absent: by lookups, or by a person where it cannot be looked up.
 */
export function passDeadline<O extends DueOperation>(operations: readonly O[], { incomplete }: DeadlineRules): PassedDeadline<O> {
  const open = operations.filter(({ state }) => !isFinal(state) && state !== 'uncertain');
  const doubtful = open.filter(({ sendingAtMs }) => sendingAtMs !== undefined);
  const target: OperationState = doubtful.length > 0 ? 'uncertain' : 'expired';
  const changed = (doubtful.length > 0 ? doubtful : open).map((operation) => ({ operation, state: target }));
  const states = operations.map((operation) => changed.find((one) => one.operation === operation)?.state ?? operation.state);
  return { state: worstOf(states, { incomplete, gone: 'expired' }), changed };
}
