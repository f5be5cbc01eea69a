import type { DestinationState, Percentiles } from '../../api/types.js';
import { duration, sentence } from '../../parts/words.js';

const phases = ['connect', 'first_byte', 'total'] as const;

/** What was measured, beside what is waited for: a timeout below the slowest calls makes uncertain leads. */
export function Latency({ state: { latency, timeouts } }: { state: DestinationState }) {
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
          {phases.map((phase) => (
            <Phase key={phase} phase={phase} measured={latency?.[phase]} limitMs={timeouts?.[`${phase}_ms`]} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface PhaseProps {
  phase: string;
  measured: Percentiles | null | undefined;
  limitMs: number | null | undefined;
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
