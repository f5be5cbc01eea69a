import { type DeliveryState, isFinal, type OperationState } from '#contracts';

/** Code of a `waiting` delivery whose person's record is another operation's: what the next free row is given to. */
export const contactBusy = 'contact_busy';

/** Who stands in a person's row, by its own rows. */
export interface Owner {
  operationKey: string;
  state: OperationState;
  deliveryState: DeliveryState;
  /** Until its next attempt, in milliseconds; absent where none is due. */
  dueInMs?: number;
}

/**
 * Whether an operation has to wait for the one that stands in the row. An owner that is gone or final left nothing open; any other may be
 * writing at this moment, may have written (`uncertain`, or waiting after a call without an answer), or crashed before it could say.
 */
export function mustWaitFor(owner: Owner | undefined, operationKey: string): owner is Owner {
  return owner !== undefined && owner.operationKey !== operationKey && !isFinal(owner.state);
}

const shortestMs = 1_000;
const longestMs = 60_000;
/** Each one that waits already makes the next look less often: it is woken when the row is freed, and looks by itself only if that was lost. */
const perWaiterMs = 100;

/** Until a busy row is looked at again without having been woken, in milliseconds. `random`: 0 ≤ random < 1. */
export function busyWaitMs(owner: Owner, { waiting, random }: { waiting: number; random: number }): number {
  const ownerMs = owner.deliveryState === 'in_flight' ? 0 : (owner.dueInMs ?? 15_000);
  const ms = Math.max(ownerMs, 0) + shortestMs + perWaiterMs * waiting;
  return Math.round(Math.min(ms, longestMs) * (1 + random / 5));
}
