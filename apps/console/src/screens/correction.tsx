import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { get, post } from '../api/client.js';
import { useMe } from '../api/me.js';
import type { Correction } from '../api/types.js';
import { Act } from '../parts/act.js';
import { Answer } from '../parts/answer.js';
import { Chip, Id, Panel, ScreenHead } from '../parts/small.js';
import { useChange } from '../parts/use-change.js';

/** A drafted correction. Its author sends the address of this screen to whoever approves it. */
export function CorrectionScreen() {
  const { correctionId = '' } = useParams();
  const query = useQuery({
    queryKey: ['corrections', correctionId],
    queryFn: ({ signal }) => get<Correction>(`corrections/${encodeURIComponent(correctionId)}`, {}, signal),
  });
  return (
    <div className="screen">
      <ScreenHead title="Correction" about={<Id value={correctionId} label="correction id" whole />}>
        {query.data !== undefined && <Approve correction={query.data} />}
      </ScreenHead>
      <Answer query={query}>{(correction) => <Facts correction={correction} />}</Answer>
    </div>
  );
}

function Approve({ correction }: { correction: Correction }) {
  const me = useMe().data;
  const approve = useChange({
    act: () => post(`corrections/${correction.correction_id}/approve`, { hash: correction.hash }),
    done: 'The correction was approved and is on its way',
    stale: ['corrections', 'lead', 'audit'],
  });
  const own =
    correction.author === me?.subject ? 'You drafted it: somebody else must approve it. Send them the address of this screen.' : undefined;
  const past = correction.state === 'draft' ? own : `It is ${correction.state} already`;
  return (
    <Act needs="replay_approve" refused={past} tone="primary" busy={approve.isPending} onPress={() => approve.mutate()}>
      Approve
    </Act>
  );
}

function Facts({ correction: { state, event_id, destination, author, approver, reason, fields } }: { correction: Correction }) {
  return (
    <Panel>
      <dl className="facts inside">
        <dt>State</dt>
        <dd>
          <Chip state={state} />
        </dd>
        <dt>Lead</dt>
        <dd>{event_id ? <Link to={`/leads/${event_id}`}>{event_id}</Link> : '–'}</dd>
        <dt>Destination</dt>
        <dd>{destination ?? '–'}</dd>
        <dt>Changes</dt>
        <dd>{fields?.join(', ') ?? 'sealed; Reveal on the lead shows them once they are approved'}</dd>
        <dt>Drafted by</dt>
        <dd>{author ?? '–'}</dd>
        <dt>Approved by</dt>
        <dd>{approver ?? 'nobody yet'}</dd>
        <dt>Reason</dt>
        <dd>{reason ?? '–'}</dd>
      </dl>
    </Panel>
  );
}
