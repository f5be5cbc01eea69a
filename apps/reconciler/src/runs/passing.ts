import { DatabaseUnavailable, InternalUnavailable, StatementFailed } from '#runtime';

/** Whether the same may work when it is done again. */
export function isPassing(error: unknown): boolean {
  return error instanceof DatabaseUnavailable || leavesNothing(error);
}

/** Such an error came before anything was committed: another service did not answer, or a deadlock was rolled back. */
export function leavesNothing(error: unknown): boolean {
  return error instanceof InternalUnavailable || (error instanceof StatementFailed && error.isTransient);
}
