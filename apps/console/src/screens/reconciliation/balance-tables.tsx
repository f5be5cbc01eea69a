import type { BalanceDay, Balances } from '../../api/types.js';
import { Ago } from '../../parts/when.js';
import { number, plain } from '../../parts/words.js';

/** The states in the order of a lead's life; any other comes behind them. */
const order = ['delivered', 'accepted', 'pending', 'in_flight', 'waiting', 'held', 'uncertain', 'dead', 'expired', 'discarded', 'erased'];

export function BalanceTable({ days }: { days: BalanceDay[] }) {
  const present = [...new Set(days.flatMap(({ found }) => Object.keys(found)))];
  const states = [...order.filter((state) => present.includes(state)), ...present.filter((state) => !order.includes(state)).sort()];
  const columns = ['accepted', ...states, 'missing', 'incomplete'];
  return (
    <div className="table-wrap">
      <table>
        <caption className="sr">Balance by day, source and destination</caption>
        <thead>
          <tr>
            <th scope="col">Day (UTC)</th>
            <th scope="col">Source</th>
            <th scope="col">Destination</th>
            {columns.map((name) => (
              <th key={name} scope="col" className="num">
                {plain(name)}
              </th>
            ))}
            <th scope="col">Balance</th>
            <th scope="col">Taken</th>
          </tr>
        </thead>
        <tbody>
          {days.map((day) => (
            <BalanceRow key={`${day.day}/${day.organization}/${day.source}/${day.destination}`} day={day} states={states} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function BalanceRow({ day, states }: { day: BalanceDay; states: readonly string[] }) {
  return (
    <tr data-row className={day.balanced ? undefined : 'bad'}>
      <td className="nowrap">
        {day.day}
        <small>{day.closed ? 'closed' : 'open'}</small>
      </td>
      <td>
        {day.source}
        <small>{day.organization}</small>
      </td>
      <td>{day.destination}</td>
      <td className="num">{number(day.accepted)}</td>
      {states.map((state) => (
        <td key={state} className="num">
          {number(day.found[state] ?? 0)}
        </td>
      ))}
      <td className={day.missing > 0 ? 'num toned tone-dead' : 'num'}>{number(day.missing)}</td>
      <td className={day.incomplete > 0 ? 'num toned tone-dead' : 'num'}>{number(day.incomplete)}</td>
      <td>
        <Verdict balanced={day.balanced} />
      </td>
      <td>
        <Ago at={day.taken_at} />
      </td>
    </tr>
  );
}

function Verdict({ balanced }: { balanced: boolean }) {
  return balanced ? <span className="chip tone-ok">✓ it adds up</span> : <span className="chip tone-dead">× it does not</span>;
}

const received = ['received', 'accepted', 'repeats', 'conflicts', 'rejected'] as const;

/** What came in from each source, whatever became of it. */
export function ReceivedTable({ days }: { days: Balances['received'] }) {
  return (
    <div className="table-wrap">
      <table>
        <caption className="sr">Received by day and source</caption>
        <thead>
          <tr>
            <th scope="col">Day (UTC)</th>
            <th scope="col">Source</th>
            {received.map((name) => (
              <th key={name} scope="col" className="num">
                {name}
              </th>
            ))}
            <th scope="col">Balance</th>
            <th scope="col">Taken</th>
          </tr>
        </thead>
        <tbody>
          {days.map((day) => (
            <tr key={`${day.day}/${day.organization}/${day.source}`} data-row className={day.balanced ? undefined : 'bad'}>
              <td className="nowrap">{day.day}</td>
              <td>
                {day.source}
                <small>{day.organization}</small>
              </td>
              {received.map((name) => (
                <td key={name} className="num">
                  {number(day[name])}
                </td>
              ))}
              <td>
                <Verdict balanced={day.balanced} />
              </td>
              <td>
                <Ago at={day.taken_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
