import { Link } from 'react-router';
import type { Correction } from '../../api/types.js';
import { Chip, Teach } from '../../parts/small.js';
import { Ago } from '../../parts/when.js';
import { shortId } from '../../parts/words.js';

export function CorrectionTable({ corrections }: { corrections: readonly Correction[] }) {
  if (corrections.length === 0) {
    return (
      <Teach title="No correction is like that">
        <p>
          A correction begins on the lead: find it with the box above and press <b>Correct …</b>. What it changes is sealed; only the names
          of the fields stand here.
        </p>
      </Teach>
    );
  }
  return (
    <div className="table-wrap">
      <table>
        <caption className="sr">Corrections</caption>
        <thead>
          <tr>
            <th scope="col">Correction</th>
            <th scope="col">State</th>
            <th scope="col">Lead</th>
            <th scope="col">Changes</th>
            <th scope="col">By</th>
            <th scope="col">Drafted</th>
          </tr>
        </thead>
        <tbody>
          {corrections.map((correction) => (
            <Row key={correction.correction_id} correction={correction} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ correction }: { correction: Correction }) {
  const { correction_id: id, state, event_id: eventId, destination, fields, author, approver } = correction;
  return (
    <tr data-row>
      <td>
        <Link to={`/corrections/${id}`} className="mono">
          {shortId(id)}
        </Link>
        <small>{correction.reason}</small>
      </td>
      <td>
        <Chip state={state} />
        {correction.class !== null && <small>{[correction.class, correction.code].filter(Boolean).join(' · ')}</small>}
      </td>
      <td>
        <Link to={`/leads/${eventId}`} className="mono">
          {shortId(eventId)}
        </Link>
        <small>at {destination}</small>
      </td>
      <td>{fields.join(', ')}</td>
      <td>
        {author}
        <small>{approver === null ? 'not approved' : `approved by ${approver}`}</small>
      </td>
      <td>
        <Ago at={correction.created_at} />
        {state === 'draft' && (
          <small>
            to be approved <Ago at={correction.expires_at} />
          </small>
        )}
      </td>
    </tr>
  );
}
