import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { get } from '../../api/client.js';
import type { Balances, Discrepancy, Page, ReconciliationRun } from '../../api/types.js';
import { Failure, Panel } from '../../parts/small.js';
import { Ago } from '../../parts/when.js';
import { number } from '../../parts/words.js';
import { classWords } from '../reconciliation/discrepancy-words.js';

const shownAtMost = 200;

/** Whether destinations hold what we know, and whether the days add up. */
export function ReconciliationCards() {
  const open = useQuery({
    queryKey: ['reconciliation', 'overview', 'open'],
    queryFn: ({ signal }) => get<Page<Discrepancy>>('reconciliation/discrepancies', { state: 'open', limit: shownAtMost }, signal),
  });
  const runs = useQuery({
    queryKey: ['reconciliation', 'overview', 'runs'],
    queryFn: ({ signal }) => get<Page<ReconciliationRun>>('reconciliation/runs', { state: 'finished', limit: 1 }, signal),
  });
  const balances = useQuery({
    queryKey: ['reconciliation', 'overview', 'balances'],
    queryFn: ({ signal }) => get<Balances>('reconciliation/balances', {}, signal),
  });
  const error = open.error ?? runs.error ?? balances.error;
  if (error !== null && open.data === undefined) {
    return (
      <Panel title="Reconciliation">
        <Failure error={error} />
      </Panel>
    );
  }
  return (
    <Panel title="Reconciliation" side={<Link to="/reconciliation/discrepancies">What differs</Link>}>
      <div className="inside halves">
        <Open page={open.data} />
        <div className="stack">
          <LastRun run={runs.data?.items[0]} known={runs.data !== undefined} />
          <Days balances={balances.data} />
        </div>
      </div>
    </Panel>
  );
}

function Open({ page }: { page: Page<Discrepancy> | undefined }) {
  if (page === undefined) return <p className="quiet">Looking …</p>;
  if (page.items.length === 0) return <p>✓ Nothing differs at a destination that anybody has to decide on.</p>;
  const classes = [...new Set(page.items.map((one) => one.class))];
  const counts = classes
    .map((name) => [name, page.items.filter((one) => one.class === name).length] as const)
    .sort(([, a], [, b]) => b - a);
  return (
    <div className="card" style={{ padding: 0 }}>
      <p>
        <strong>
          {page.next ? 'More than ' : ''}
          {number(page.items.length)}
        </strong>{' '}
        open, {number(page.items.filter(({ urgency }) => urgency === 'high').length)} of them urgent
      </p>
      <div className="tallies">
        {counts.map(([name, count]) => (
          <Link key={name} to={`/reconciliation/discrepancies?class=${name}`}>
            <b>{number(count)}</b> {classWords[name].toLowerCase()}
          </Link>
        ))}
      </div>
    </div>
  );
}

function LastRun({ run, known }: { run: ReconciliationRun | undefined; known: boolean }) {
  if (!known) return <p className="quiet">Looking …</p>;
  if (run === undefined) {
    return (
      <p className="quiet">
        No run has finished yet. <Link to="/reconciliation/runs">Start one</Link>
      </p>
    );
  }
  return (
    <p>
      <Link to="/reconciliation/runs">Last run</Link>: {run.destination}, <Ago at={run.finished_at} />
      {run.counts !== null && `, ${number(run.counts.compared ?? 0)} leads compared`}
    </p>
  );
}

function Days({ balances }: { balances: Balances | undefined }) {
  if (balances === undefined) return <p className="quiet">Looking …</p>;
  const days = [...balances.items, ...balances.received];
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
