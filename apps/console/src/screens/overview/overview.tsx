import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { get } from '../../api/client.js';
import { pollEveryMs } from '../../api/live.js';
import type { Overview } from '../../api/types.js';
import { Answer } from '../../parts/answer.js';
import { Panel, ScreenHead } from '../../parts/small.js';
import { When } from '../../parts/when.js';
import { duration, number } from '../../parts/words.js';
import { BatchTable } from '../batches/batch-table.js';
import { BalanceEquation } from './balance.js';
import { DestinationCards } from './destination-cards.js';
import { OverviewCharts } from './overview-charts.js';
import { ReconciliationCards } from './reconciliation-cards.js';
import { WaitingCorrections } from './waiting-corrections.js';

export function OverviewScreen() {
  const query = useQuery({
    queryKey: ['overview'],
    queryFn: ({ signal }) => get<Overview>('overview', {}, signal),
    refetchInterval: 3 * pollEveryMs,
  });
  return (
    <div className="screen">
      <ScreenHead
        title="Overview"
        about={
          <>
            Is every lead where it should be, and if not, whose turn is it? As of <When at={query.data?.as_of} absent="now" />.
          </>
        }
      />
      <Answer query={query}>
        {(overview) => (
          <>
            <BalanceEquation balance={overview.balance} next={overview.not_yet?.balance} />
            <DestinationCards overview={overview} />
            <ReconciliationCards reconciliation={overview.reconciliation} />
            <WaitingCorrections />
            <OverviewCharts overview={overview} />
            <div className="halves">
              <Panel title="Open work by owner">
                <WorkByOwner work={overview.work_by_owner ?? []} />
              </Panel>
              <Panel title="Recent batches" side={<Link to="/batches">All batches</Link>}>
                <BatchTable batches={overview.recent_batches ?? []} />
              </Panel>
            </div>
          </>
        )}
      </Answer>
    </div>
  );
}

function WorkByOwner({ work }: { work: Overview['work_by_owner'] }) {
  if (work.length === 0) return <p className="loading">Nobody has anything to decide. Dead letters would stand here by who owns them.</p>;
  return (
    <div className="table-wrap">
      <table>
        <thead>
          <tr>
            <th scope="col">Owner</th>
            <th scope="col" className="num">
              Open
            </th>
            <th scope="col" className="num">
              Overdue
            </th>
            <th scope="col" className="num">
              Oldest
            </th>
          </tr>
        </thead>
        <tbody>
          {work.map(({ owner, open, overdue, oldest_age_ms }) => (
            <tr key={owner} data-row>
              <td>
                <Link to={`/queues/dead?owner=${encodeURIComponent(owner)}`}>{owner.replaceAll('_', ' ')}</Link>
              </td>
              <td className="num">{number(open)}</td>
              <td className={overdue > 0 ? 'num toned tone-dead' : 'num'}>{number(overdue)}</td>
              <td className="num">{duration(oldest_age_ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
