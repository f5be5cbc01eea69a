import { type DeliveryState, type FailureClass, isFinal, type OperationState } from '#contracts';
import type { Outcome } from '../outcome.js';
import type { OperationWork } from '../work.js';
import type { Verdict } from './decide.js';
import { leaseExpired } from './expire-lease.js';
import { type Limit, runOut } from './run-out.js';
import { worstOf } from './worst-of.js';

/** One finished call and its judgement. Times in milliseconds of `performance.now()`. */
export interface Call {
  operation: OperationWork;
  /** 1-indexed; calls that spend no attempt share the number of the next one. */
  number: number;
  outcome: Outcome;
  verdict: Verdict;
  startedAt: number;
  durationMs: number;
  traceId: string;
  spanId: string;
}

/**
 * What becomes of the operations that were not called: later again, or never. `code` says why not now, where it was not the turn of the
 * operation before. `ended`: it may not be sent any more. `refused`: its target does not take it as things are. `run_out`: a limit is reached.
 */
export type Rest =
  | { kind: 'later'; delayMs: number; code?: string }
  | { kind: 'ended'; state: 'erased' | 'discarded'; code: string }
  | { kind: 'refused'; class: FailureClass; code: string }
  | { kind: 'run_out'; limit: Limit };

export interface ConcludedOperation {
  operation: OperationWork;
  state: OperationState;
  class?: FailureClass;
  code?: string;
  call?: Call;
}

export interface Conclusion {
  state: DeliveryState;
  /** Operations whose state changes, in declared order. */
  operations: ConcludedOperation[];
  class?: FailureClass;
  code?: string;
  /** Until the next attempt; for `waiting` alone. */
  delayMs?: number;
}

/** What is known beside the calls. */
export interface ConcludeContext {
  canLookUp(kind: string): boolean;
  /** Operations that the delivery declared have no row any more: they share what becomes of the rest. */
  incomplete: boolean;
}

interface Ended {
  operations: readonly OperationWork[];
  calls: readonly Call[];
  rest: Rest;
  context: ConcludeContext;
}

/** What one claim of a delivery came to: each called operation by its verdict, the open rest by `rest`, the delivery by its worst. */
export function conclude({ operations, calls, rest, context }: Ended): Conclusion {
  const last = calls.at(-1);
  const stopped = last !== undefined && last.verdict.state !== 'succeeded' ? last : undefined;
  const callOf = (operation: OperationWork): Call | undefined => calls.find((one) => one.operation === operation);
  const doubt = operations.some((one) => !isFinal(one.state) && callOf(one) === undefined && inDoubt(one, rest, context));
  const changed: ConcludedOperation[] = [];
  const states = operations.map((operation) => {
    const call = callOf(operation);
    if (call === undefined && isFinal(operation.state)) return operation.state;
    const isNext = stopped === undefined && changed.every((one) => one.call !== undefined);
    const after =
      call === undefined ? uncalled(operation, { stopped, rest, isNext, doubt, context, called: calls.length > 0 }) : called(call);
    changed.push(after);
    return after.state;
  });
  const gone = goneWith(rest);
  const state = worstOf(states, { incomplete: context.incomplete, gone: gone.state });
  const cause = changed.find((one) => (state === 'delivered' ? 'succeeded' : state) === one.state) ?? gone;
  const reason =
    state === 'delivered' ? {} : { class: state === 'uncertain' ? undefined : cause?.class, code: codeOf(state, { cause, rest }) };
  return { state, operations: changed, ...reason, ...(state === 'waiting' ? { delayMs: delayOf(stopped, rest) } : {}) };
}

/** What it waits for without a call is the delivery's own to say: its operations keep what happened to them. */
const codeOf = (
  state: DeliveryState,
  { cause, rest }: { cause?: Pick<ConcludedOperation, 'code' | 'call'>; rest: Rest },
): string | undefined => (state === 'waiting' && cause?.call === undefined && rest.kind === 'later' ? rest.code : cause?.code);

function called(call: Call): ConcludedOperation {
  const { verdict, operation } = call;
  return {
    operation,
    call,
    state: verdict.state,
    class: 'class' in verdict ? verdict.class : undefined,
    code: 'code' in verdict ? verdict.code : undefined,
  };
}

interface Uncalled {
  stopped?: Call;
  rest: Rest;
  /** Nothing before it stands in its way. */
  isNext: boolean;
  /** Of some operation it has to be known whether it was executed before the rest is given up. */
  doubt: boolean;
  context: ConcludeContext;
  /** Some operation was called. */
  called: boolean;
}

/**
 * What stands behind an operation that did not succeed keeps its turn; it shares the end of one whose time or data is gone. What may have
 * reached the destination is `uncertain` before anything is given up, and the rest keeps its turn meanwhile. That its claim was lost before
 * is known until a call is answered: a wait in between is no answer, or a lead that kills its process would begin anew with each.
 */
function uncalled(operation: OperationWork, { stopped, rest, isNext, doubt, context, called }: Uncalled): ConcludedOperation {
  const lost = !called && operation.failedWith === leaseExpired ? leaseExpired : undefined;
  const pending: ConcludedOperation = { operation, state: 'pending', code: lost };
  if (stopped !== undefined) {
    const { state } = stopped.verdict;
    return state === 'erased' || state === 'expired' ? { operation, state } : pending;
  }
  if (rest.kind === 'later') return isNext ? { operation, state: 'waiting', code: lost ?? rest.code } : pending;
  if (rest.kind === 'run_out' && rest.limit === 'attempts') {
    // The calls of the first are used up; the others have had none.
    return isNext ? ranOut(operation, 'attempts', inDoubt(operation, rest, context)) : pending;
  }
  if (doubt && !inDoubt(operation, rest, context)) return pending;
  if (rest.kind === 'ended') return { operation, state: doubt ? 'uncertain' : rest.state, code: rest.code };
  // With its class it ends as this where the doubtful call was not executed.
  if (rest.kind === 'refused') return { operation, state: doubt ? 'uncertain' : 'dead', class: rest.class, code: rest.code };
  return ranOut(operation, rest.limit, doubt);
}

/** What an operation without a row counts as. */
function goneWith(rest: Rest): Pick<ConcludedOperation, 'state' | 'class' | 'code'> {
  if (rest.kind === 'later') return { state: 'waiting', code: rest.code };
  if (rest.kind === 'ended') return { state: rest.state, code: rest.code };
  if (rest.kind === 'refused') return { state: 'dead', class: rest.class, code: rest.code };
  return { code: rest.limit, ...runOut(rest.limit, { doubtful: false, canLookUp: false }) };
}

const ranOut = (operation: OperationWork, limit: Limit, doubtful: boolean): ConcludedOperation => ({
  operation,
  code: limit,
  ...runOut(limit, { doubtful, canLookUp: true }),
});

/** It may have reached the destination, and is not given up by this rest before somebody has looked. */
const inDoubt = (operation: OperationWork, rest: Rest, { canLookUp }: ConcludeContext): boolean =>
  operation.sentAtMs !== undefined && (canLookUp(operation.kind) || (rest.kind === 'run_out' && rest.limit === 'deadline'));

function delayOf(stopped: Call | undefined, rest: Rest): number {
  if (stopped?.verdict.state === 'waiting') return stopped.verdict.delayMs;
  return rest.kind === 'later' ? rest.delayMs : 0;
}
