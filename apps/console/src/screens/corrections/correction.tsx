import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { get, post } from '../../api/client.js';
import { pollEveryMs } from '../../api/live.js';
import { useMe } from '../../api/me.js';
import type { Correction } from '../../api/types.js';
import { Act } from '../../parts/act.js';
import { Answer } from '../../parts/answer.js';
import { Chip, Id, Panel, ScreenHead } from '../../parts/small.js';
import { useChange } from '../../parts/use-change.js';
import { When } from '../../parts/when.js';

/** One correction: what it changes where, and its approval. */
export function CorrectionScreen() {
  const { correctionId = '' } = useParams();
  const query = useQuery({
    queryKey: ['corrections', correctionId],
    queryFn: ({ signal }) => get<Correction>(`corrections/${encodeURIComponent(correctionId)}`, {}, signal),
    refetchInterval: pollEveryMs,
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
    correction.author === me?.subject ? 'You drafted it: somebody else must approve it. They find it under Corrections.' : undefined;
  const past = correction.state === 'draft' ? own : `It is ${correction.state} already`;
  return (
    <Act needs="replay_approve" refused={past} tone="primary" busy={approve.isPending} onPress={() => approve.mutate()}>
      Approve
    </Act>
  );
}

const stepWords = {
  change: 'is changed there',
  keep: 'is there already, nothing of it changes',
  create: 'is not there yet and is made',
} as const;

function Facts({ correction }: { correction: Correction }) {
  const { state, event_id, destination, fields, operations, author, approver, reason } = correction;
  return (
    <Panel>
      <dl className="facts inside">
        <dt>State</dt>
        <dd>
          <Chip state={state} /> {[correction.class, correction.code].filter(Boolean).join(' · ')}
        </dd>
        <dt>Lead</dt>
        <dd>
          <Link to={`/leads/${event_id}`}>{event_id}</Link>, revision {correction.revision}
        </dd>
        <dt>Changes</dt>
        <dd>{fields.join(', ')}: sealed; Reveal on the lead shows the values once they are in force</dd>
        <dt>At {destination}</dt>
        <dd>
          {operations.map(({ operation_key, kind, step, found, ref }) => (
            <p key={operation_key}>
              {kind} {ref && <code>{ref}</code>} {stepWords[step]}
              {found && '; a lookup found it, though its first answer was lost'}
            </p>
          ))}
        </dd>
        <dt>Drafted by</dt>
        <dd>
          {author}; to be approved before <When at={correction.expires_at} />
        </dd>
        <dt>Approved by</dt>
        <dd>{approver ?? 'nobody yet'}</dd>
        <dt>Reason</dt>
        <dd>{reason}</dd>
      </dl>
    </Panel>
  );
}
