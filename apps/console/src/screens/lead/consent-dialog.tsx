import { post } from '../../api/client.js';
import type { Timeline } from '../../api/types.js';
import { ReasonDialog } from '../../parts/reason-dialog.js';
import { useChange } from '../../parts/use-change.js';

/** Why there is no consent to withdraw. */
export function whyNoWithdrawal({ vault }: Pick<Timeline, 'vault'>): string | undefined {
  if (vault?.state === 'gone') return 'Nothing of this person is kept any more';
  return vault?.consent_withdrawn_at ? 'Consent was withdrawn already' : undefined;
}

/** For a person who withdraws consent by telephone or by letter. */
export function ConsentDialog({ lead, onClose }: { lead: Timeline; onClose: () => void }) {
  const { mutateAsync } = useChange({
    act: (reason: string) => post<{ result: 'withdrawn' | 'gone' }>(`leads/${lead.event_id}/consent`, { given: false, reason }),
    done: ({ result }) => (result === 'withdrawn' ? 'The withdrawal was noted' : 'Nothing of this person is kept any more'),
    stale: ['lead', 'dead-letters', 'overview', 'audit'],
    quiet: true,
  });
  return (
    <ReasonDialog
      title="The person withdrew consent?"
      about="Nothing more of this lead goes to a destination that requires consent. It cannot be taken back here, and nothing is erased by it."
      action="Note the withdrawal"
      tone="danger"
      onClose={onClose}
      onDo={(reason) => mutateAsync(reason)}
    />
  );
}
