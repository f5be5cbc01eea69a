import type { DeliveryState, OperationState } from '#contracts';
import { worstOf } from './worst-of.js';

/** Code of what a claim was lost of, until its next answer. */
export const leaseExpired = 'lease_expired';

export interface LeasedOperation {
  operationKey: string;
  kind: string;
  state: OperationState;
  /** A call of it was marked before it was made: the request may have left. With native idempotency: by this very claim. */
  marked: boolean;
  /** The claim before was lost as well, and nothing was answered since: with native idempotency too its calls are marked. */
  lostBefore: boolean;
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
  /** Claims of the delivery so far. */
  claims: number;
  /** Until its deadline, in milliseconds. */
  leftMs: number;
  /** 0 ≤ random < 1. */
  random: number;
}

export interface ExpiredOperation extends LeasedOperation {
  /** A call may have begun whose end nobody saw. */
  doubtful: boolean;
  /** It counts as one. */
  attempted: boolean;
}

export interface ExpiredLease {
  state: DeliveryState;
  operations: ExpiredOperation[];
  /** Whether a wake-up is due. An uncertain delivery is not woken: sending it again could double its effect. */
  wake: boolean;
  /** Until it may be claimed again. */
  delayMs: number;
}

const firstSpreadMs = 5_000;
/** An innocent one that was only claimed waits no longer than that for others' deaths. */
const longestSpreadMs = 60_000;
/** Of the time left, so that what is scattered has tries before its deadline. */
const spreadShare = 1 / 3;

/**
 * What a lease that ran out leaves behind; its holder is taken for dead. Operations are in declared order.
 *
 * Without native idempotency every call is marked before it is made: a marked operation is `uncertain`, an unmarked one was provably not sent
 * and is as new. With it a mark would cost every lead a write, and most leads that a process dies with were only claimed ahead of their
 * calls. So the first loss in a row counts for nothing: the first open operation may have been sent, and the same request is repeated. From
 * then on its calls are marked until one is answered, and a loss counts an attempt exactly where a call had begun; where that was the last one
 * allowed, the operation is looked up, or `dead` where that cannot be. A lead whose call kills its process ends by that, one loss later than
 * by failures; one that was never sent loses nothing but time, and only its deadline ends it.
 *
 * What is lost again comes back at a random time, later with each claim: what dies together must not come together again, or a lead that
 * kills its process would take the same neighbours along each time. A third of the time left is the most: none is scattered past its deadline.
 */
export function expireLease(operations: readonly LeasedOperation[], rules: LeaseRules): ExpiredLease {
  const sent = sentOne(operations, rules);
  const after = operations.map((operation, index): ExpiredOperation => {
    const untouched = { ...operation, doubtful: false, attempted: false };
    if (operation.state !== 'in_flight') return untouched;
    if (!rules.nativeIdempotency) {
      const { marked } = operation;
      return { ...operation, state: marked ? 'uncertain' : 'pending', doubtful: marked, attempted: marked };
    }
    if (index !== sent) return { ...untouched, state: 'pending' };
    if (!operation.lostBefore) return { ...operation, state: 'pending', doubtful: true, attempted: false };
    return { ...operation, state: repeated(operation, rules), doubtful: true, attempted: true };
  });
  const state = worstOf(
    after.map((operation) => operation.state),
    { incomplete: rules.incomplete, gone: 'pending' },
  );
  const again = operations.some((operation) => operation.state === 'in_flight' && operation.lostBefore);
  return { state, operations: after, wake: state === 'pending' || state === 'waiting', delayMs: again ? spreadMs(rules) : 0 };
}

/** With native idempotency: which call was under way. Calls are marked in their order, so it was the last; after a first loss nobody knows. */
function sentOne(operations: readonly LeasedOperation[], { nativeIdempotency }: LeaseRules): number {
  if (!nativeIdempotency) return -1;
  const firstOpen = operations.findIndex(({ state }) => state === 'in_flight');
  if (operations[firstOpen]?.lostBefore === false) return firstOpen;
  return operations.findLastIndex(({ state, lostBefore, marked }) => state === 'in_flight' && lostBefore && marked);
}

function repeated({ attempts, kind }: LeasedOperation, rules: LeaseRules): OperationState {
  if (attempts + 1 < rules.attempts) return 'pending';
  return rules.canLookUp(kind) ? 'uncertain' : 'dead';
}

const spreadMs = ({ claims, leftMs, random }: LeaseRules): number =>
  Math.floor(random * Math.min(firstSpreadMs * 2 ** Math.max(claims - 2, 0), longestSpreadMs, Math.max(leftMs, 0) * spreadShare));
