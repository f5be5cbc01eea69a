import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { get } from '../../api/client.js';
import { pollEveryMs } from '../../api/live.js';
import type { Timeline } from '../../api/types.js';
import { Answer } from '../../parts/answer.js';
import { Chip, Id, Panel, ScreenHead } from '../../parts/small.js';
import { Ago, When } from '../../parts/when.js';
import { plain } from '../../parts/words.js';
import { Deliveries } from './deliveries.js';
import { LeadActions } from './lead-actions.js';
import { LeadCorrections } from './lead-corrections.js';
import { LeadDiscrepancies } from './lead-discrepancies.js';
import { LeadEvents } from './lead-events.js';
import { LeadLetters } from './lead-letters.js';
import { PersonPanel } from './person-panel.js';
import { Story } from './story.js';

export function LeadScreen() {
  const { eventId = '' } = useParams();
  const query = useQuery({
    queryKey: ['lead', eventId],
    queryFn: ({ signal }) => get<Timeline>(`leads/${encodeURIComponent(eventId)}`, {}, signal),
    refetchInterval: pollEveryMs,
  });
  return (
    <div className="screen">
      <Answer query={query}>
        {(lead) => (
          <>
            <ScreenHead
              title={<>Lead {lead.test === true && <span className="chip tone-held">test</span>}</>}
              about={<Id value={lead.event_id} label="event id" whole />}
            >
              <LeadActions lead={lead} />
            </ScreenHead>
            {lead.unavailable.length > 0 && (
              <p className="notice tone-held" role="status">
                {lead.unavailable.join(' and ')} does not answer now. What only it knows is missing here or older than the rest.
              </p>
            )}
            <Story summary={lead.summary} />
            <div className="lead">
              <div className="stack">
                <Panel title="Where it goes">
                  <Deliveries lead={lead} />
                </Panel>
                <Panel title="What happened, oldest first">
                  <LeadEvents events={lead.events} />
                </Panel>
              </div>
              <aside aria-label="About this lead">
                <PersonPanel key={lead.event_id} lead={lead} />
                <Facts lead={lead} />
                <LeadDiscrepancies eventId={lead.event_id} />
                <LeadCorrections eventId={lead.event_id} />
                <LeadLetters letters={lead.dead_letters} />
                <Elsewhere lead={lead} />
              </aside>
            </div>
          </>
        )}
      </Answer>
    </div>
  );
}

function Facts({ lead }: { lead: Timeline }) {
  return (
    <Panel title="About it">
      <dl className="facts inside">
        <dt>Organization</dt>
        <dd>{lead.organization}</dd>
        <dt>Source, form</dt>
        <dd>{[lead.source, lead.form].filter(Boolean).join(' · ') || '–'}</dd>
        <dt>Campaign</dt>
        <dd>{lead.campaign ?? '–'}</dd>
        <dt>Submitted</dt>
        <dd>
          <When at={lead.submitted_at} /> (<Ago at={lead.submitted_at} />)
        </dd>
        <dt>Accepted</dt>
        <dd>
          <When at={lead.accepted_at} />
        </dd>
        <dt>Due</dt>
        <dd>
          <When at={lead.deadline_at} />{' '}
          {lead.deadline_at && (
            <small className="quiet">
              (<Ago at={lead.deadline_at} />)
            </small>
          )}
        </dd>
        <dt>Owner</dt>
        <dd>{lead.owner ?? 'nobody'}</dd>
        <dt>Lead ref</dt>
        <dd>
          <code>{lead.lead_ref ?? '–'}</code>
        </dd>
        <dt>Kept</dt>
        <dd>{keptOf(lead)}</dd>
      </dl>
    </Panel>
  );
}

function keptOf({ vault }: Timeline) {
  if (vault === null || vault.state === 'gone') return 'What the person wrote is gone';
  return (
    <>
      revision {vault.revision}, until <When at={vault.delete_after} />
      {vault.consent_withdrawn_at && (
        <>
          . Consent withdrawn <When at={vault.consent_withdrawn_at} />
        </>
      )}
    </>
  );
}

function Elsewhere({ lead }: { lead: Timeline }) {
  const { replays, notifications, supersedes, superseded_by: later } = lead;
  const related = [...(supersedes === null ? [] : [supersedes]), ...later];
  if (replays.length + notifications.length + related.length === 0) return null;
  return (
    <Panel title="Around it">
      <ul className="inside stack">
        {notifications.map(({ channel, template, state }) => (
          <li key={channel + template}>
            {plain(template)} to {channel}: <Chip state={state} />
          </li>
        ))}
        {replays.map(({ item_id, batch_id, destination, state, repairs }) => (
          <li key={item_id}>
            <Link to={`/batches/${batch_id}`}>{repairs ? 'Repair' : 'Batch'}</Link> to {destination}: <Chip state={state} />
          </li>
        ))}
        {related.map((id) => (
          <li key={id}>
            {id === supersedes ? 'Replaces' : 'Replaced by'} <Link to={`/leads/${id}`}>{id}</Link>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
