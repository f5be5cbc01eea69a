import { NavLink, useParams } from 'react-router';
import { ScreenHead } from '../../parts/small.js';
import { BalancesView } from './balances.js';
import { DiscrepanciesView } from './discrepancies.js';
import { RunsView } from './runs.js';

const tabs = [
  [
    'discrepancies',
    'Discrepancies',
    'What a destination holds otherwise than we know. Nothing is changed there until somebody has approved it.',
  ],
  ['runs', 'Runs', 'Each compares one destination over a window of submissions, below the rate of live traffic. It changes nothing.'],
  ['balance', 'Balance', 'Every delivery that was accepted on a day is found in exactly one state, or named as missing.'],
] as const;

export function ReconciliationScreen() {
  const { tab = 'discrepancies' } = useParams();
  const [, , about] = tabs.find(([name]) => name === tab) ?? tabs[0];
  return (
    <div className="screen">
      <ScreenHead title="Reconciliation" about={about} />
      <nav className="tabs" aria-label="Reconciliation">
        {tabs.map(([name, title]) => (
          <NavLink key={name} to={`/reconciliation/${name}`}>
            {title}
          </NavLink>
        ))}
      </nav>
      {tab === 'runs' ? <RunsView /> : tab === 'balance' ? <BalancesView /> : <DiscrepanciesView />}
    </div>
  );
}
