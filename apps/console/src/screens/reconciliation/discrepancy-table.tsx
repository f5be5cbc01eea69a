import { Link } from 'react-router';
import type { Discrepancy } from '../../api/types.js';
import { Chip } from '../../parts/small.js';
import { ticked } from '../../parts/ticked.js';
import { Ago } from '../../parts/when.js';
import { plain, shortId } from '../../parts/words.js';
import { Runbook } from '../queues/runbook.js';
import { aspectOf, classWords, repairWords } from './discrepancy-words.js';

interface Props {
  discrepancies: Discrepancy[];
  chosen: ReadonlySet<string>;
  onChoose: (chosen: ReadonlySet<string>) => void;
}

export function DiscrepancyTable({ discrepancies, chosen, onChoose }: Props) {
  const all = discrepancies.length > 0 && discrepancies.every(({ discrepancy_id: id }) => chosen.has(id));
  const toggle = (id: string) => onChoose(ticked(chosen, id));
  return (
    <div className="table-wrap">
      <table>
        <caption className="sr">Discrepancies</caption>
        <thead>
          <tr>
            <th scope="col">
              <input
                type="checkbox"
                aria-label="Tick every row of this page"
                checked={all}
                onChange={() => onChoose(new Set(all ? [] : discrepancies.map(({ discrepancy_id: id }) => id)))}
              />
            </th>
            <th scope="col">What differs</th>
            <th scope="col">Lead</th>
            <th scope="col">Urgency</th>
            <th scope="col">Whose turn</th>
            <th scope="col">Next step</th>
            <th scope="col">State</th>
            <th scope="col">Seen</th>
          </tr>
        </thead>
        <tbody>
          {discrepancies.map((one) => (
            <DiscrepancyRow key={one.discrepancy_id} one={one} ticked={chosen.has(one.discrepancy_id)} onToggle={toggle} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  one: Discrepancy;
  ticked: boolean;
  onToggle: (id: string) => void;
}

function DiscrepancyRow({ one, ticked, onToggle }: RowProps) {
  const { discrepancy_id: id, event_id: eventId, destination, repair } = one;
  const name = `${classWords[one.class]}, ${eventId === undefined ? destination : shortId(eventId)}`;
  return (
    <tr data-row>
      <td>
        <input type="checkbox" aria-label={`Tick ${name}`} checked={ticked} onChange={() => onToggle(id)} />
      </td>
      <td style={{ minWidth: 190 }}>
        {classWords[one.class]}
        <small>{[one.kind && plain(one.kind), aspectOf(one)].filter(Boolean).join(' · ')}</small>
        <Evidence one={one} />
      </td>
      <td>
        {eventId === undefined ? (
          <span className="quiet">no lead of ours</span>
        ) : (
          <Link to={`/leads/${eventId}`} className="mono nowrap">
            {shortId(eventId)}
          </Link>
        )}
        <small>{[destination, one.organization].filter(Boolean).join(' · ')}</small>
      </td>
      <td>
        <Chip state={one.urgency} />
      </td>
      <td>{plain(one.owner)}</td>
      <td style={{ minWidth: 220 }}>
        {one.next_step}
        <small>
          {repair === undefined ? 'decided at the destination' : repairWords[repair]} <Runbook path={one.runbook} />
        </small>
      </td>
      <StateCell one={one} />
      <td>
        <Ago at={one.first_seen_at} />
        <small>
          last <Ago at={one.last_seen_at} />
        </small>
      </td>
    </tr>
  );
}

function StateCell({ one }: { one: Discrepancy }) {
  const who = [one.by && `by ${one.by}`, one.approver && `approved by ${one.approver}`].filter(Boolean).join(', ');
  return (
    <td>
      <Chip state={one.state} />
      {who !== '' && <small>{who}</small>}
      {(one.result ?? one.reason) && <small>{plain(one.result ?? one.reason ?? '')}</small>}
      {one.batch_id !== undefined && (
        <small>
          <Link to={`/batches/${one.batch_id}`}>batch {shortId(one.batch_id)}</Link>
        </small>
      )}
    </td>
  );
}

const written = (value: Discrepancy['evidence'][string]): string => (Array.isArray(value) ? value.join(', ') : String(value));

/** References, states and times; the values of a person's fields are nowhere in it. */
function Evidence({ one }: { one: Discrepancy }) {
  const ids = {
    their_id: one.ref,
    operation: one.operation_key,
    lead: one.lead_ref,
    first_run: one.first_run_id,
    last_run: one.last_run_id,
  };
  const facts = [...Object.entries(one.evidence), ...Object.entries(ids)].filter(([, value]) => value !== undefined && value !== '');
  return (
    <details>
      <summary>Evidence</summary>
      <dl className="facts">
        {facts.map(([name, value]) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt>{plain(name)}</dt>
            <dd>
              <code>{written(value ?? '')}</code>
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
