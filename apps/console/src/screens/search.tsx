import { Link } from 'react-router';
import type { SearchHit } from '../api/types.js';
import { Choice } from '../parts/field.js';
import { Chip, Failure, Panel, ScreenHead, Teach } from '../parts/small.js';
import { When } from '../parts/when.js';
import { plain, shortId } from '../parts/words.js';
import { type Kind, useFinder } from '../shell/search-box.js';

const kinds: readonly (readonly [Kind, string])[] = [
  ['auto', 'whatever it looks like'],
  ['email', 'an e-mail address'],
  ['phone', 'a phone number'],
];

export function SearchScreen() {
  const { hits, unavailable, error, busy, kind, setKind, input } = useFinder();
  return (
    <div className="screen">
      <ScreenHead
        title="Search"
        about="The box above takes an event id, the source's own id, an operation key, an attempt or trace id, a CRM id, an e-mail address or a phone number."
      >
        <Choice
          label="Read it as"
          value={kind}
          options={kinds}
          onChange={(value) => setKind(kinds.find(([name]) => name === value)?.[0] ?? 'auto')}
        />
        <button type="button" onClick={() => input.current?.focus()}>
          Type <kbd>/</kbd>
        </button>
      </ScreenHead>
      {unavailable.length > 0 && (
        <p className="notice tone-held" role="status">
          {unavailable.join(' and ')} does not answer now. A lead that only it knows by this id is not found until it does.
        </p>
      )}
      {error ? <Failure error={error} /> : <Panel>{busy ? <p className="loading">Searching …</p> : <Hits hits={hits} />}</Panel>}
    </div>
  );
}

function Hits({ hits }: { hits: SearchHit[] | undefined }) {
  if (hits === undefined) {
    return (
      <Teach title="Nothing was searched yet">
        <p>
          Press <kbd>/</kbd>, paste what you have, press Enter. One lead opens at once; several are listed here, newest first.
        </p>
        <p className="quiet">An e-mail address or phone number is compared by a keyed hash. It is kept in no address, log or history.</p>
      </Teach>
    );
  }
  if (hits.length === 0) {
    return (
      <Teach title="No lead was found">
        <p>Ids must be whole. An address or number must be the one that the person typed; spaces and capitals do not matter.</p>
        <p className="quiet">
          It may also belong to an organization that you may not see, have been erased, or be older than its retention. A lead that could
          not be read has no lead to find: look in <Link to="/queues/dead">the queue of dead letters</Link>.
        </p>
      </Teach>
    );
  }
  return <HitTable hits={hits} />;
}

function HitTable({ hits }: { hits: SearchHit[] }) {
  return (
    <div className="table-wrap">
      <table>
        <caption className="sr">Leads found</caption>
        <thead>
          <tr>
            <th scope="col">Lead</th>
            <th scope="col">Found by</th>
            <th scope="col">State</th>
            <th scope="col">Source and form</th>
            <th scope="col">Organization</th>
            <th scope="col">Submitted</th>
          </tr>
        </thead>
        <tbody>
          {hits.map((hit) => (
            <tr key={`${hit.event_id}${hit.kind}`} data-row>
              <td>
                <Link to={`/leads/${hit.event_id}`} className="mono">
                  {shortId(hit.event_id)}
                </Link>
              </td>
              <td>{plain(hit.kind)}</td>
              <td>{hit.state ? <Chip state={hit.state} /> : '–'}</td>
              <td>{[hit.source, hit.form].filter(Boolean).join(' · ') || '–'}</td>
              <td>{hit.organization ?? '–'}</td>
              <td>
                <When at={hit.submitted_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
