import type { FieldProblem } from '#runtime';

/** A source's clock may run ahead by this much. */
const maxAheadMs = 2 * 60_000;
/** Keys are kept 400 days; an older submission could be a repeat that nobody remembers. */
const keyRetentionMs = 400 * 86_400_000;

/** What is wrong with the time of submission, seen at PostgreSQL's time `now`. */
export function submittedAtProblem(submittedAt: Date, now: Date): FieldProblem | undefined {
  const field = 'submitted_at';
  const aheadMs = submittedAt.getTime() - now.getTime();
  if (aheadMs > maxAheadMs) {
    return { field, problem: 'lies more than 2 minutes ahead', fix: 'Set the clock of the source, or leave the field out (HTTP).' };
  }
  if (-aheadMs > keyRetentionMs) {
    return { field, problem: 'is more than 400 days old', fix: 'Submit leads of the last 400 days only.' };
  }
  return undefined;
}
