import { ApiError, get, post } from '../../api/client.js';
import type { DeadLetter, Page } from '../../api/types.js';

/** Letters to be dismissed, by id, or all of a group as they were at a moment. */
export type Dismissed = { ids: string[] } | { group: { key: string; as_of: string } };

const pageSize = 200;
/** A person dismisses what they have looked at; more at once is no looking. */
export const mostDismissed = 2_000;
const atOnce = 4;

/** The ids of the open letters of a group that had come by then. */
async function idsOf({ key, as_of }: { key: string; as_of: string }): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string | null | undefined; ; ) {
    const page: Page<DeadLetter> = await get('dead-letters', { tab: 'all', group: key, limit: pageSize, after });
    const shown = page.items.filter((letter) => 'received_at' in letter && letter.received_at <= as_of);
    ids.push(...shown.map(({ dead_letter_id }) => dead_letter_id));
    after = page.next;
    if (!after || ids.length > mostDismissed) return ids;
  }
}

/** How many were closed, and how many were not, by why not. */
export interface Outcome {
  closed: number;
  left: Readonly<Record<string, number>>;
}

/** Asks for each letter by itself: whether one may be closed depends on the delivery behind it. Rejects at the first that is refused. */
export async function dismissLetters(what: Dismissed, reason: string, onProgress: (done: number, of: number) => void): Promise<Outcome> {
  const ids = 'ids' in what ? [...what.ids] : await idsOf(what.group);
  const of = ids.length;
  if (of > mostDismissed)
    throw new ApiError(409, `There are more than ${mostDismissed} letters`, { detail: 'Dismiss them in parts, from their list.' });
  let closed = 0;
  const left: Record<string, number> = {};
  const work = async () => {
    for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
      const { dismissed, outcome } = await post<{ dismissed: boolean; outcome: string }>(`dead-letters/${id}/dismiss`, { reason });
      if (dismissed) closed += 1;
      else left[outcome] = (left[outcome] ?? 0) + 1;
      onProgress(closed + Object.values(left).reduce((sum, count) => sum + count, 0), of);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return { closed, left };
}

const whyLeft: Readonly<Record<string, string>> = {
  delivery_decides: 'closed by what becomes of their delivery: replay or discard it',
  closed_before: 'closed before by somebody else',
  unknown_letter: 'not there any more',
};

/** `12 closed; 3 are closed by what becomes of their delivery`. */
export function told({ closed, left }: Outcome): string {
  const rest = Object.entries(left).map(([why, count]) => `${count} ${count === 1 ? 'is' : 'are'} ${whyLeft[why] ?? why}`);
  return [closed === 1 ? 'One letter was closed' : `${closed} letters were closed`, ...rest].join('; ');
}
