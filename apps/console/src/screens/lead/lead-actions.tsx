import { useState } from 'react';
import { useNavigate } from 'react-router';
import { post } from '../../api/client.js';
import type { Erasure, Timeline } from '../../api/types.js';
import { Act } from '../../parts/act.js';
import { ReasonDialog } from '../../parts/reason-dialog.js';
import { say } from '../../parts/toasts.js';
import { ConsentDialog, whyNoWithdrawal } from './consent-dialog.js';
import { CorrectDialog } from './correct-dialog.js';
import { writtenTo } from './written-to.js';

export function LeadActions({ lead }: { lead: Timeline }) {
  const [open, setOpen] = useState<'correct' | 'consent' | 'erase'>();
  const navigate = useNavigate();
  const written = writtenTo(lead);
  const dead = written.filter(({ state }) => state === 'dead' || state === 'expired');
  const close = () => setOpen(undefined);
  return (
    <>
      <Act
        needs="replay_request"
        refused={dead.length === 0 ? 'No delivery of this lead is dead or expired' : undefined}
        onPress={() => void navigate('/batches/new', { state: { filter: { event_ids: [lead.event_id] }, count: dead.length } })}
      >
        Replay …
      </Act>
      <Act
        needs="replay_request"
        refused={written.length === 0 ? 'It goes to no destination' : undefined}
        onPress={() => setOpen('correct')}
      >
        Correct …
      </Act>
      <Act needs="replay_request" refused={whyNoWithdrawal(lead)} onPress={() => setOpen('consent')}>
        Consent withdrawn …
      </Act>
      <Act needs={['replay_request', 'delete']} tone="danger" onPress={() => setOpen('erase')}>
        Erase …
      </Act>
      {open === 'correct' && <CorrectDialog lead={lead} onClose={close} />}
      {open === 'consent' && <ConsentDialog lead={lead} onClose={close} />}
      {open === 'erase' && (
        <ReasonDialog
          title="Draft the erasure of this person's lead"
          about="Nothing is erased yet. The draft lists every place that holds something; a second person approves it."
          action="Draft the erasure"
          tone="danger"
          onClose={close}
          onDo={async (reason) => {
            const { erasure_id } = await post<Erasure>('erasures', { event_id: lead.event_id, reason });
            say('The erasure was drafted');
            void navigate(`/erasures/${erasure_id}`);
          }}
        />
      )}
    </>
  );
}
