import type { DestinationState, Percentiles } from '../../api/types.js';
import { Chart } from '../../parts/chart.js';
import { duration, sentence } from '../../parts/words.js';

type Timeouts = NonNullable<DestinationState['timeouts']>;

/** What is waited for each part that is measured. */
const phases = [
  ['connect', ({ connect_ms }: Timeouts) => connect_ms],
  ['first_byte', ({ first_byte_ms, total_ms }: Timeouts) => Math.min(first_byte_ms ?? total_ms, total_ms)],
  ['total', ({ total_ms }: Timeouts) => total_ms],
] as const;

/** What was measured, beside what is waited for: a timeout below the slowest calls makes uncertain leads. */
export function Latency({ state }: { state: DestinationState }) {
  return (
    <div>
      <Measured state={state} />
      {state.timeouts !== undefined && <NotMeasured timeouts={state.timeouts} />}
    </div>
  );
}

/** Limits with nothing to compare them to. */
function NotMeasured({ timeouts: { write_ms, read_ms, lookup_ms } }: { timeouts: Timeouts }) {
  const parts = [
    write_ms !== undefined && `${duration(write_ms)} until the request is out`,
    read_ms !== undefined && `${duration(read_ms)} for the rest of the answer`,
    `${duration(lookup_ms)} for a lookup`,
  ];
  return <p className="quiet">We also wait {parts.filter(Boolean).join(', ')}.</p>;
}

function Measured({ state: { latency, timeouts } }: { state: DestinationState }) {
  return (
    <div className="table-wrap">
      <table>
        <caption className="sr">Measured latency beside the timeouts</caption>
        <thead>
          <tr>
            <th scope="col">Of a call</th>
            <th scope="col" className="num">
              half
            </th>
            <th scope="col" className="num">
              95 %
            </th>
            <th scope="col" className="num">
              99 %
            </th>
            <th scope="col" className="num">
              we wait
            </th>
          </tr>
        </thead>
        <tbody>
          {phases.map(([phase, limitOf]) => (
            <Phase key={phase} phase={phase} measured={latency[phase]} limitMs={timeouts && limitOf(timeouts)} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface PhaseProps {
  phase: string;
  measured: Percentiles | undefined;
  limitMs: number | undefined;
}

/** From this share of the timeout on, the slowest calls are close to being given up. */
const tight = 0.8;

function Phase({ phase, measured, limitMs }: PhaseProps) {
  const close = Boolean(limitMs && measured?.p99 && measured.p99 > limitMs * tight);
  return (
    <tr>
      <td>{sentence(phase)}</td>
      <td className="num">{duration(measured?.p50)}</td>
      <td className="num">{duration(measured?.p95)}</td>
      <td className={close ? 'num toned tone-held' : 'num'}>
        {duration(measured?.p99)}
        {close && <small>close to the timeout</small>}
      </td>
      <td className="num">{duration(limitMs)}</td>
    </tr>
  );
}

/** How long whole calls took, hour by hour. */
export function LatencyByHour({ hours }: { hours: DestinationState['latency']['by_hour'] }) {
  if (hours.length < 2) return null;
  return (
    <details>
      <summary>Whole calls by hour</summary>
      <Chart
        title="Whole calls"
        at={hours.map(({ at }) => at)}
        write={duration}
        empty="Nothing was measured"
        series={[
          { name: 'half', tone: 'ok', values: hours.map(({ p50 }) => p50) },
          { name: '95 %', tone: 'held', values: hours.map(({ p95 }) => p95) },
          { name: '99 %', tone: 'dead', values: hours.map(({ p99 }) => p99) },
        ]}
      />
    </details>
  );
}
