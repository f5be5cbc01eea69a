import { DatabaseUnavailable, InternalUnavailable, StatementFailed } from '#runtime';

/** Whether the same may work when it is done again. */
export function isPassing(error: unknown): boolean {
  return error instanceof DatabaseUnavailable || leavesNothing(error);
}

/** Such an error came before anything was committed: another service did not answer, or a deadlock was rolled back. */
export function leavesNothing(error: unknown): boolean {
  return error instanceof InternalUnavailable || (error instanceof StatementFailed && error.isTransient);
}

/** Whatever the schedule puts down next begins where this run did. */
const longestOnePageMs = 3_600_000;

/** Another service did not answer for one page, for as long as may be. */
export class Stuck extends Error {
  override readonly name = 'Stuck';
  readonly safeMessage = true;
}

/** @param sinceMs when the page was first asked for, by `performance.now()` @throws Stuck once that is longer ago than `onePageMs`, default one hour */
export function unlessStuck(sinceMs: number, onePageMs = longestOnePageMs): void {
  if (performance.now() - sinceMs >= onePageMs) throw new Stuck('another service did not answer for the same page for too long');
}
