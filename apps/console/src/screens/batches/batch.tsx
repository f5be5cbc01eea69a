import { useQuery } from '@tanstack/react-query';
import { useParams } from 'react-router';
import { get } from '../../api/client.js';
import { pollEveryMs } from '../../api/live.js';
import type { Batch } from '../../api/types.js';
import { Answer } from '../../parts/answer.js';
import { endedBadly, outcomeOf } from '../../parts/batch-words.js';
import { Chip, Id, Panel, Progress, ScreenHead } from '../../parts/small.js';
import { Ago, When } from '../../parts/when.js';
import { duration, number, plain } from '../../parts/words.js';
import { BatchActions } from './batch-actions.js';
import { BatchItems } from './batch-items.js';
import { aboutOf, BatchChip } from './batch-table.js';

/** A batch under way changes with every item. */
const movingEveryMs = 2_000;
const moving = ['approved', 'canary', 'running'];
const steps = ['draft', 'checked', 'approved', 'canary', 'running', 'finished'];
const stepWords: Readonly<Record<string, string>> = { draft: 'drafted', checked: 'dry run', canary: 'canary', running: 'running' };

export function BatchScreen() {
  const { batchId = '' } = useParams();
  const query = useQuery({
    queryKey: ['batches', batchId],
    queryFn: ({ signal }) => get<Batch>(`batches/${encodeURIComponent(batchId)}`, {}, signal),
    refetchInterval: ({ state: { data } }) => (moving.includes(data?.state ?? '') ? movingEveryMs : pollEveryMs),
  });
  return (
    <div className="screen">
      <Answer query={query}>
        {(batch) => (
          <>
            <ScreenHead
              title={
                <span className="row">
                  Batch <BatchChip batch={batch} />
                </span>
              }
              about={<Id value={batch.batch_id} label="batch id" whole />}
            >
              <BatchActions batch={batch} />
            </ScreenHead>
            <Steps batch={batch} />
            {endedBadly(batch) && <Rest batch={batch} />}
            {batch.why && <Why batch={batch} />}
            <div className="halves">
              <Course batch={batch} />
              <Terms batch={batch} />
            </div>
            <BatchItems batch={batch} />
          </>
        )}
      </Answer>
    </div>
  );
}

function Steps({ batch }: { batch: Batch }) {
  const at = steps.indexOf(batch.state === 'paused' ? (batch.paused_from ?? 'running') : batch.state);
  const reached = at === -1 ? reachedBefore(batch) : at;
  return (
    <ol className="steps" aria-label="Steps of a batch">
      {steps.map((step, index) => (
        <li
          key={step}
          data-done={index < reached || (batch.state === 'finished' && (step !== 'finished' || !endedBadly(batch)))}
          aria-current={index === at ? 'step' : undefined}
        >
          {index === at && step === 'finished' ? outcomeOf(batch).words : (stepWords[step] ?? step)}
        </li>
      ))}
    </ol>
  );
}

/** How far a batch had come that was stopped or has expired. */
function reachedBefore({ checked_at, approved_at, began_at }: Batch): number {
  if (began_at) return 3;
  if (approved_at) return 3;
  return checked_at ? 2 : 1;
}

/** What is left to see to of a batch in which not everything arrived. */
function Rest({ batch }: { batch: Batch }) {
  return (
    <p className="notice tone-dead" role="status">
      {outcomeOf(batch).words}. What failed is back among the dead letters; what is uncertain needs a look at the destination first.
    </p>
  );
}

function Why({ batch: { why, state, stopped_by } }: { batch: Batch }) {
  const by = stopped_by ? ` by ${stopped_by}` : '';
  return (
    <p className={`notice tone-${state === 'paused' ? 'held' : 'dead'}`} role="status">
      {plain(state)}
      {by}: {plain(why?.code ?? '')}
      {why?.detail && `. ${why.detail}`}
    </p>
  );
}

function Course({ batch }: { batch: Batch }) {
  const { counts, canary, progress, rate_now: rate } = batch;
  const shown = (['succeeded', 'failed', 'uncertain', 'open', 'skipped', 'stopped', 'not_applied'] as const).filter(
    (name) => counts[name] > 0,
  );
  return (
    <Panel title="Course" side={batch.state === 'running' && <span className="quiet">{number(rate)} per second now</span>}>
      <div className="inside stack">
        <Progress
          share={progress}
          label="Share of the approved items that have ended"
          bad={endedBadly(batch) || batch.state === 'stopped'}
        />
        <p>
          {number(counts.sent)} of {number(counts.approved || counts.eligible || counts.items)} sent
        </p>
        <div className="row">
          {shown.map((name) => (
            <span key={name}>
              <Chip state={name} /> {number(counts[name])}
            </span>
          ))}
        </div>
        <p className="quiet">
          Canary:{' '}
          {canary.size === 0 ? 'its size is set with the approval' : `${canary.verified} of ${canary.size} found at the destination`}
          {canary.lookups > 0 && `, by ${canary.lookups} lookups there`}
          {canary.vouched_by && `, vouched for by ${canary.vouched_by}`}
        </p>
      </div>
    </Panel>
  );
}

function Terms({ batch }: { batch: Batch }) {
  const { caps } = batch;
  return (
    <Panel title="Terms">
      <dl className="facts inside">
        <dt>About</dt>
        <dd>{aboutOf(batch)}</dd>
        <dt>Reason</dt>
        <dd>{batch.reason ?? '–'}</dd>
        <dt>Drafted</dt>
        <dd>
          by {batch.author}, <When at={batch.created_at} />
          {batch.edited_by !== null && `; changed by ${batch.edited_by}`}
        </dd>
        <dt>Approved</dt>
        <dd>
          {batch.approver ? `by ${batch.approver} (${plain(batch.policy)}), ` : 'not yet'}
          {batch.approver && <When at={batch.approved_at} />}
          {batch.state === 'approved' && batch.approval_expires_at && (
            <>
              , to begin <Ago at={batch.approval_expires_at} />
            </>
          )}
        </dd>
        <dt>Limits</dt>
        <dd>
          {number(caps.rate_per_s)} per second, {number(caps.concurrency)} at once, {duration(caps.max_duration_ms)} at most, new deadline{' '}
          {duration(caps.new_deadline_ms)}
        </dd>
        <dt>Hash</dt>
        <dd>
          <code title={batch.hash}>{batch.hash.slice(0, 16)}…</code>
        </dd>
      </dl>
    </Panel>
  );
}
