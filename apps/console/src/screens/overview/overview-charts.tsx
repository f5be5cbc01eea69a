import type { Overview } from '../../api/types.js';
import { Chart } from '../../parts/chart.js';
import { Panel } from '../../parts/small.js';
import { moment } from '../../parts/when.js';
import { duration, number } from '../../parts/words.js';

export function OverviewCharts({ overview }: { overview: Overview }) {
  const { backlog = [], time_to_write: writes = [], not_yet: notYet } = overview;
  const at = backlog.map((point) => point.at);
  return (
    <section aria-label="Trends" className="cards" style={{ gridTemplateColumns: 'repeat(auto-fit, minmax(340px, 1fr))' }}>
      <Panel>
        <Chart
          title="Backlog"
          at={at}
          write={number}
          empty="Points come in every minute while operator runs."
          series={[
            { name: 'waiting', tone: 'wait', values: backlog.map(({ waiting }) => waiting) },
            { name: 'held', tone: 'held', values: backlog.map(({ held }) => held) },
            { name: 'not taken up yet', tone: 'unsure', values: backlog.map(({ unclaimed }) => unclaimed) },
            { name: 'dead letters', tone: 'dead', values: backlog.map(({ dead }) => dead) },
          ]}
        />
      </Panel>
      <Panel>
        <Chart
          title="Age of the oldest"
          at={at}
          write={duration}
          empty="The age counts from when the person pressed the button."
          series={[{ name: 'oldest open delivery', tone: 'accent', values: backlog.map(({ oldest_age_ms }) => oldest_age_ms) }]}
        />
      </Panel>
      <Panel>
        <Chart
          title="Time until written"
          at={writes.map((point) => point.at)}
          write={duration}
          empty={
            notYet?.time_to_write === undefined
              ? 'From the submission until the destination has it, by hour.'
              : `No delivery of the last day was measured yet; looked at again at ${moment(notYet.time_to_write)}. From the submission until the destination has it, by hour.`
          }
          series={[
            { name: 'half', tone: 'ok', values: writes.map(({ p50 }) => p50) },
            { name: '95 %', tone: 'held', values: writes.map(({ p95 }) => p95) },
            { name: '99 %', tone: 'dead', values: writes.map(({ p99 }) => p99) },
          ]}
        />
      </Panel>
    </section>
  );
}
