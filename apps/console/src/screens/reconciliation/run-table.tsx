import { useState } from 'react';
import { Link } from 'react-router';
import { post } from '../../api/client.js';
import type { ReconciliationRun } from '../../api/types.js';
import { Act } from '../../parts/act.js';
import { ReasonDialog } from '../../parts/reason-dialog.js';
import { Busy, Chip, Progress } from '../../parts/small.js';
import { useChange } from '../../parts/use-change.js';
import { Ago, When } from '../../parts/when.js';
import { duration, number, plain, shortId } from '../../parts/words.js';

export function RunTable({ runs }: { runs: ReconciliationRun[] }) {
  return (
    <div className="table-wrap">
      <table>
        <caption className="sr">Runs</caption>
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">Window of submissions</th>
            <th scope="col">State</th>
            <th scope="col">Compared</th>
            <th scope="col">Found</th>
            <th scope="col" className="num">
              Calls there
            </th>
            <th scope="col">By</th>
            <th scope="col">
              <span className="sr">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <RunRow key={run.run_id} run={run} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function RunRow({ run }: { run: ReconciliationRun }) {
  const { run_id: id, destination, filter, state, reason, resumed } = run;
  const narrowed = Object.entries(filter)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
  return (
    <tr data-row>
      <td>
        <Link to={`/reconciliation/discrepancies?run_id=${id}&state=any`}>{destination}</Link>
        <small className="mono">{shortId(id)}</small>
        {narrowed !== '' && <small>{narrowed}</small>}
      </td>
      <td>
        <When at={run.from} />
        <small>
          until <When at={run.to} />
        </small>
      </td>
      <td>
        <Chip state={state} />
        {reason && <small>{plain(reason)}</small>}
        {resumed > 0 && <small>taken on again {resumed === 1 ? 'once' : `${resumed} times`}</small>}
      </td>
      <td style={{ minWidth: 130 }}>
        <Course run={run} />
      </td>
      <td>
        <Found counts={run.counts} />
      </td>
      <td className="num">{number(run.calls)}</td>
      <td>
        {run.by}
        <small>
          <Ago at={run.created_at} />
        </small>
      </td>
      <td>
        <StopRun run={run} />
      </td>
    </tr>
  );
}

/** How far it is. How many there will be is known only at the end, so that a run under way has no share. */
function Course({ run: { run_id: id, state, counts, started_at: began, finished_at: ended } }: { run: ReconciliationRun }) {
  const label = `Progress of run ${shortId(id)}`;
  const tookMs = began && ended ? Date.parse(ended) - Date.parse(began) : undefined;
  return (
    <>
      {state === 'running' ? (
        <Busy label={label} />
      ) : (
        <Progress share={state === 'finished' ? 1 : 0} label={label} bad={state === 'failed'} />
      )}
      <small>
        {counts === null ? 'not yours to see' : `${number(counts.compared ?? 0)} leads`}
        {tookMs !== undefined && ` in ${duration(tookMs)}`}
      </small>
    </>
  );
}

const others = ['compared', 'unconfirmed'];

function Found({ counts }: Pick<ReconciliationRun, 'counts'>) {
  if (counts === null) return <span className="quiet">not yours to see</span>;
  const found = Object.entries(counts).filter(([name, count]) => !others.includes(name) && count > 0);
  const unconfirmed = counts.unconfirmed ?? 0;
  return (
    <>
      {found.length === 0 ? (
        <span className="quiet">nothing</span>
      ) : (
        found.map(([name, count]) => `${number(count)} ${plain(name)}`).join(', ')
      )}
      {unconfirmed > 0 && <small>{number(unconfirmed)} to be looked for again: absent once is not missing</small>}
    </>
  );
}

function StopRun({ run: { run_id: id, state, destination } }: { run: ReconciliationRun }) {
  const [asking, setAsking] = useState(false);
  const { mutateAsync } = useChange({
    act: (reason: string) => post(`reconciliation/runs/${id}/stop`, { reason }),
    done: 'Stopped. What it found stays.',
    stale: ['reconciliation', 'overview', 'audit'],
    quiet: true,
  });
  const over = state === 'waiting' || state === 'running' ? undefined : `It is ${state}`;
  return (
    <>
      <Act needs="replay_request" refused={over} tone="danger" onPress={() => setAsking(true)}>
        Stop …
      </Act>
      {asking && (
        <ReasonDialog
          title={`Stop the run over ${destination}`}
          about="It reads no further. What it found until now stays."
          action="Stop it"
          tone="danger"
          onClose={() => setAsking(false)}
          onDo={(reason) => mutateAsync(reason)}
        />
      )}
    </>
  );
}
