import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { get } from '../../api/client.js';
import type { Balances, Overview } from '../../api/types.js';
import { Chip, Panel } from '../../parts/small.js';
import { Ago } from '../../parts/when.js';
import { number } from '../../parts/words.js';
import { classWords } from '../reconciliation/discrepancy-words.js';

type Reconciliation = NonNullable<Overview['reconciliation']>;

/** Whether destinations hold what we know, and whether the days add up. */
export function ReconciliationCards({ reconciliation }: { reconciliation: Overview['reconciliation'] }) {
  const asOf = reconciliation && (
    <span className="quiet">
      counted <Ago at={reconciliation.as_of} />
    </span>
  );
  return (
    <Panel title="What destinations hold" side={asOf}>
      <div className="inside halves">
        {reconciliation === null ? (
          <p className="quiet">
            Nothing was compared yet, or nothing is counted now. <Link to="/reconciliation/runs">Runs</Link>
          </p>
        ) : (
          <Open reconciliation={reconciliation} />
        )}
        <div className="stack">
          <LastRuns runs={reconciliation?.last_runs ?? []} />
          <Days />
        </div>
      </div>
    </Panel>
  );
}

function Open({ reconciliation: { open, more } }: { reconciliation: Reconciliation }) {
  const all = open.reduce((sum, { count }) => sum + count, 0);
  const urgent = open.reduce((sum, { high }) => sum + high, 0);
  if (all === 0) return <p>✓ Nothing differs that anybody has to decide on.</p>;
  return (
    <div className="card" style={{ padding: 0 }}>
      <p>
        <Link to="/reconciliation/discrepancies">
          <strong>
            {more ? 'More than ' : ''}
            {number(all)}
          </strong>{' '}
          differ
        </Link>
        , {number(urgent)} of them urgent
      </p>
      <div className="tallies">
        {open.map(({ destination, class: name, count, high }) => (
          <Link
            key={destination + name}
            className={high > 0 ? 'toned tone-dead' : undefined}
            to={`/reconciliation/discrepancies?class=${name}&destination=${encodeURIComponent(destination)}`}
          >
            <b>{number(count)}</b> {classWords[name].toLowerCase()} · {destination}
          </Link>
        ))}
      </div>
    </div>
  );
}

function LastRuns({ runs }: { runs: Reconciliation['last_runs'] }) {
  return runs.map(({ destination, run_id: id, state, finished_at: finished, compared }) => (
    <p key={destination}>
      <Link to={`/reconciliation/runs?destination=${encodeURIComponent(destination)}`}>Last run</Link> over {destination}:{' '}
      {state === 'finished' ? <Ago at={finished} /> : <Chip state={state} />}, {number(compared)} leads compared
      {state === 'failed' && <Link to={`/reconciliation/discrepancies?run_id=${id}&state=any`}> what it found</Link>}
    </p>
  ));
}

function Days() {
  const { data, isError } = useQuery({
    queryKey: ['reconciliation', 'balances', {}],
    queryFn: ({ signal }) => get<Balances>('reconciliation/balances', {}, signal),
  });
  if (data === undefined) return <p className="quiet">{isError ? 'Whether the days add up cannot be said now.' : 'Looking …'}</p>;
  const days = [...data.items, ...data.received];
  const bad = new Set(days.filter(({ balanced }) => !balanced).map(({ day }) => day));
  const link = <Link to="/reconciliation/balance">Balance of the days</Link>;
  if (days.length === 0) return <p className="quiet">{link}: none is taken yet</p>;
  return bad.size === 0 ? (
    <p>{link}: ✓ every day adds up</p>
  ) : (
    <p className="toned tone-dead">
      {link}: × {[...bad].sort().join(', ')} {bad.size === 1 ? 'does' : 'do'} not add up
    </p>
  );
}
