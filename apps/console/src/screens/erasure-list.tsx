import { useQuery } from '@tanstack/react-query';
import { Link, useSearchParams } from 'react-router';
import { get } from '../api/client.js';
import type { ErasureSummary, Page } from '../api/types.js';
import { Answer } from '../parts/answer.js';
import { Pager } from '../parts/pager.js';
import { Chip, Panel, Teach } from '../parts/small.js';
import { Ago } from '../parts/when.js';
import { plain, shortId } from '../parts/words.js';

export function ErasureList() {
  const [params] = useSearchParams();
  const asked = { after: params.get('after') ?? undefined };
  const query = useQuery({
    queryKey: ['erasures', 'list', asked],
    queryFn: ({ signal }) => get<Page<ErasureSummary>>('erasures', asked, signal),
    placeholderData: (before) => before,
  });
  return (
    <Panel title="Erasures, newest first">
      <Answer query={query}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Teach title="Nobody was erased yet">
              <p>
                An erasure takes the sealed payload, rejected originals, records of dead letters and the keyed hashes that search uses. What
                lies at a destination becomes a task with its reference there, for whoever looks after it.
              </p>
              <p className="quiet">Counts, references and the audit stay: they tell that something was there, not what it said.</p>
            </Teach>
          ) : (
            <>
              <ErasureTable erasures={items} />
              <Pager next={next} shown={items.length} />
            </>
          )
        }
      </Answer>
    </Panel>
  );
}

function ErasureTable({ erasures }: { erasures: ErasureSummary[] }) {
  return (
    <div className="table-wrap">
      <table>
        <caption className="sr">Erasures</caption>
        <thead>
          <tr>
            <th scope="col">Erasure</th>
            <th scope="col">State</th>
            <th scope="col">Named by</th>
            <th scope="col">Reason</th>
            <th scope="col">By</th>
            <th scope="col">Drafted</th>
          </tr>
        </thead>
        <tbody>
          {erasures.map(({ erasure_id: id, state, kind, reason, author, approver, created_at }) => (
            <tr key={id} data-row>
              <td>
                <Link to={`/erasures/${id}`} className="mono">
                  {shortId(id)}
                </Link>
              </td>
              <td>
                <Chip state={state} />
              </td>
              <td>{plain(kind)}</td>
              <td>{reason}</td>
              <td>
                {author}
                <small>{approver ? `approved by ${approver}` : 'not approved'}</small>
              </td>
              <td>
                <Ago at={created_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
