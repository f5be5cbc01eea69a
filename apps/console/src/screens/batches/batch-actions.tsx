import { useState } from 'react';
import { post } from '../../api/client.js';
import { useMe } from '../../api/me.js';
import type { Batch, Me } from '../../api/types.js';
import { Act } from '../../parts/act.js';
import { ReasonDialog } from '../../parts/reason-dialog.js';
import { useChange } from '../../parts/use-change.js';
import { EditDialog, whyNoEdit } from './edit-dialog.js';

const stale = ['batches', 'overview', 'dead-letters', 'audit'];
const moving = ['approved', 'canary', 'running'];
const onDuty = ['replay_request', 'replay_approve'] as const;

interface Approval {
  /** Why it cannot be approved now, whatever the permissions are. */
  refused?: string;
  policy?: 'single_operator';
}

/** Whether the person may approve as far as the batch itself says. */
function approvalOf(batch: Batch, me: Me | undefined): Approval {
  if (batch.state === 'draft') return { refused: 'Dry-run it first: what is approved is what was checked' };
  if (batch.state !== 'checked') return { refused: `It is ${batch.state} already` };
  if (batch.counts.eligible === 0) return { refused: 'No item is eligible' };
  const own = batch.author === me?.subject ? 'drafted' : batch.edited_by === me?.subject ? 'changed' : undefined;
  if (me === undefined || own === undefined) return {};
  const alone = me.single_operator_policy?.max;
  if (alone !== undefined && batch.counts.eligible <= alone) return { policy: 'single_operator' };
  const rule = alone === undefined ? '' : ` Alone you may approve up to ${alone} items.`;
  return { refused: `You ${own} it: somebody else must approve it.${rule}` };
}

export function BatchActions({ batch }: { batch: Batch }) {
  const me = useMe().data;
  const path = `batches/${batch.batch_id}`;
  const check = useChange({ act: () => post(`${path}/dry-run`), done: 'Checked. Nothing was sent.', stale });
  const { refused, policy } = approvalOf(batch, me);
  const approve = useChange({
    act: () => post(`${path}/approve`, { hash: batch.hash, ...(policy !== undefined && { policy }) }),
    done: 'Approved. The canary goes first.',
    stale,
  });
  const [editing, setEditing] = useState(false);
  const early = batch.state === 'draft' || batch.state === 'checked';
  return (
    <>
      <Act needs="replay_request" refused={whyNoEdit(batch)} onPress={() => setEditing(true)}>
        Change …
      </Act>
      {early && (
        <>
          <Act
            needs="replay_request"
            busy={check.isPending}
            tone={batch.state === 'draft' ? 'primary' : undefined}
            onPress={() => check.mutate()}
          >
            {batch.state === 'draft' ? 'Dry run' : 'Dry run again'}
          </Act>
          <Act needs="replay_approve" refused={refused} tone="primary" busy={approve.isPending} onPress={() => approve.mutate()}>
            {policy === undefined ? 'Approve' : 'Approve alone'}
          </Act>
        </>
      )}
      {!early && <RunActions batch={batch} />}
      {editing && <EditDialog batch={batch} onClose={() => setEditing(false)} />}
    </>
  );
}

const words = {
  pause: {
    title: 'Pause this batch',
    about: 'Nothing further is begun. What is under way ends as it would. Somebody who may approve can resume it.',
    action: 'Pause',
  },
  resume: {
    title: 'Resume this batch',
    about: 'It goes on where it was, with the canary first if that was not through. Say what has changed since it was paused.',
    action: 'Resume',
  },
} as const;

function RunActions({ batch }: { batch: Batch }) {
  const [asking, setAsking] = useState<'pause' | 'resume'>();
  const path = `batches/${batch.batch_id}`;
  const pause = useChange({ act: (reason: string) => post(`${path}/pause`, { reason }), done: 'Paused', stale, quiet: true });
  const resume = useChange({ act: (reason: string) => post(`${path}/resume`, { reason }), done: 'It goes on', stale, quiet: true });
  const stop = useChange({ act: () => post(`${path}/stop`), done: 'Stopped. Nothing further is sent.', stale });
  const isMoving = moving.includes(batch.state);
  const isPaused = batch.state === 'paused';
  const ended = `It is ${batch.state}`;
  return (
    <>
      <Act needs={onDuty} refused={isMoving ? undefined : ended} onPress={() => setAsking('pause')}>
        Pause …
      </Act>
      <Act needs="replay_approve" refused={isPaused ? undefined : ended} onPress={() => setAsking('resume')}>
        Resume …
      </Act>
      <Act
        needs={onDuty}
        refused={isMoving || isPaused ? undefined : ended}
        tone="stop"
        busy={stop.isPending}
        onPress={() => stop.mutate()}
      >
        Stop
      </Act>
      {asking !== undefined && (
        <ReasonDialog
          {...words[asking]}
          onClose={() => setAsking(undefined)}
          onDo={(reason) => (asking === 'pause' ? pause : resume).mutateAsync(reason)}
        />
      )}
    </>
  );
}
