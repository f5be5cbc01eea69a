import { type DeliveryState, deliveryState, type FailureClass, isFinal, type OperationState } from '#contracts';
import type { Outcome } from '../outcome.js';
import type { OperationWork } from '../work.js';
import type { Verdict } from './decide.js';

/** One finished call and its judgement. Times in milliseconds of `performance.now()`. */
export interface Call {
  operation: OperationWork;
  /** 1-indexed. */
  number: number;
  outcome: Outcome;
  verdict: Verdict;
  startedAt: number;
  durationMs: number;
  traceId: string;
  spanId: string;
}

/** Why the operations that were not called will not be: `erased` (the vault row is gone), `expired` (past the deadline), or later again. */
export type Rest = 'again' | 'erased' | 'expired';

export interface ConcludedOperation {
  operation: OperationWork;
  state: OperationState;
  call?: Call;
}

export interface Conclusion {
  state: DeliveryState;
  /** Operations whose state changes, in declared order. */
  operations: ConcludedOperation[];
  class?: FailureClass;
  code?: string;
  /** Until the next attempt; for `waiting`, and 0 for `pending`: what was not called is due at once. */
  delayMs?: number;
}

/** What one claim of a delivery came to: each called operation by its verdict, the open rest by `rest`, the delivery by its worst. */
export function conclude(operations: readonly OperationWork[], calls: readonly Call[], rest: Rest): Conclusion {
  const changed: ConcludedOperation[] = [];
  const states = operations.map((operation) => {
    const call = calls.find((one) => one.operation === operation);
    if (call === undefined && isFinal(operation.state)) return operation.state;
    const state = call?.verdict.state ?? stateOfRest(rest);
    changed.push({ operation, state, call });
    return state;
  });
  const state = deliveryState(states);
  return { state, operations: changed, ...reason(state, calls, rest) };
}

function stateOfRest(rest: Rest): OperationState {
  return rest === 'again' ? 'pending' : rest;
}

function reason(state: DeliveryState, calls: readonly Call[], rest: Rest): Pick<Conclusion, 'class' | 'code' | 'delayMs'> {
  if (state === 'pending') return { delayMs: 0 };
  if (state === 'expired' && rest === 'expired') return { class: 'deadline_exceeded', code: 'deadline' };
  const verdict = calls.at(-1)?.verdict;
  if (verdict?.state === 'uncertain') return { code: verdict.code };
  if (verdict?.state === 'waiting') return { class: verdict.class, code: verdict.code, delayMs: verdict.delayMs };
  return {};
}
