import { useState } from 'react';
import { ApiError } from '../../api/client.js';
import { ReasonDialog } from '../../parts/reason-dialog.js';
import { Progress } from '../../parts/small.js';
import { useChange } from '../../parts/use-change.js';
import { number } from '../../parts/words.js';
import { type Dismissed, dismissLetters, told } from './dismiss-letters.js';

export interface Dismissing {
  what: Dismissed;
  /** How many, as it was shown. */
  count: number;
}

/** Closes letters because a person has dealt with them. Stays open and says why where none of them could be closed. */
export function DismissDialog({ what, count, onClose }: Dismissing & { onClose: () => void }) {
  const [done, setDone] = useState<{ share: number }>();
  const { mutateAsync } = useChange({
    act: async (reason: string) => {
      const outcome = await dismissLetters(what, reason, { onProgress: (asked) => setDone({ share: Math.min(1, asked / count) }) });
      if (outcome.dismissed === 0) throw new ApiError(409, 'None of them can be dismissed', { detail: told(outcome) });
      return outcome;
    },
    done: told,
    stale: ['dead-letters', 'overview', 'audit', 'lead'],
    quiet: true,
  });
  return (
    <ReasonDialog
      title={`Dismiss ${count === 1 ? 'one letter' : `${number(count)} letters`}`}
      about="For what was dealt with elsewhere, and has no delivery that could still end: a lead that nobody routed, a record that cannot be read. A letter with a delivery behind it is closed by what becomes of that."
      action="Dismiss"
      tone="danger"
      onClose={onClose}
      onDo={(reason) => mutateAsync(reason)}
    >
      {done !== undefined && <Progress share={done.share} label="Letters that were asked about" />}
    </ReasonDialog>
  );
}
