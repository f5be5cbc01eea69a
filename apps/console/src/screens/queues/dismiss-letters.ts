import { post } from '../../api/client.js';
import type { DismissedLetters } from '../../api/types.js';

/** Letters to be dismissed, by id, or all of a group as it was shown: at a moment, with so many letters. */
export type Dismissed = { ids: string[] } | { group: { key: string; as_of: string }; expected: number };

type Left = DismissedLetters['left'];
/** How many were closed, and how many were not, by why not. */
export type Outcome = Pick<DismissedLetters, 'dismissed' | 'left'>;
type Ask = (body: object) => Promise<DismissedLetters>;

/**
 * Asks for page after page until all were looked at: which of them may be closed depends on the delivery behind each. Rejects with what the
 * first page rejects with; what was closed before stays closed.
 */
export async function dismissLetters(
  what: Dismissed,
  reason: string,
  { onProgress, ask = (body) => post<DismissedLetters>('dead-letters/dismiss', body) }: { onProgress: (done: number) => void; ask?: Ask },
): Promise<Outcome> {
  const sum: Outcome = { dismissed: 0, left: { delivery_decides: 0, in_batch: 0, closed_before: 0 } };
  for (let after: string | undefined; ; ) {
    const { dismissed, left, next } = await ask({ ...what, reason, ...(after !== undefined && { after }) });
    sum.dismissed += dismissed;
    for (const why of Object.keys(sum.left) as (keyof Left)[]) sum.left[why] += left[why];
    onProgress(sum.dismissed + Object.values(sum.left).reduce((all, count) => all + count, 0));
    if (next === undefined) return sum;
    after = next;
  }
}

const whyLeft: Readonly<Record<keyof Left, string>> = {
  delivery_decides: 'closed by what becomes of their delivery: replay or discard it',
  in_batch: 'in a batch that was approved',
  closed_before: 'closed before by somebody else',
};

/** `12 letters were closed; 3 are closed by what becomes of their delivery`. */
export function told({ dismissed, left }: Outcome): string {
  const rest = (Object.keys(whyLeft) as (keyof Left)[])
    .filter((why) => left[why] > 0)
    .map((why) => `${left[why]} ${left[why] === 1 ? 'is' : 'are'} ${whyLeft[why]}`);
  if (dismissed === 0 && rest.length === 0) return 'Nothing of it is open any more';
  return [dismissed === 1 ? 'One letter was closed' : `${dismissed} letters were closed`, ...rest].join('; ');
}
