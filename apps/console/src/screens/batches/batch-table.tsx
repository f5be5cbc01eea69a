import { Link } from 'react-router';
import type { Batch } from '../../api/types.js';
import { endedBadly, notDelivered, outcomeOf } from '../../parts/batch-words.js';
import { Chip, Progress, Teach } from '../../parts/small.js';
import { Ago } from '../../parts/when.js';
import { number, shortId } from '../../parts/words.js';

/** What a batch is about, from the filter that it was drafted from. */
export function aboutOf({ selection }: Pick<Batch, 'selection'>): string {
  const { event_ids: ids, discrepancies, ...named } = selection ?? {};
  if (typeof discrepancies === 'object' && discrepancies !== null) return aboutRepair(discrepancies);
  const parts = Object.entries(named).flatMap(([name, value]) => partOf(name, value));
  if (Array.isArray(ids)) parts.push(ids.length === 1 ? 'one lead' : `${ids.length} leads by id`);
  return parts.map((part) => part.replaceAll('_', ' ')).join(' · ') || 'everything open';
}

function partOf(name: string, value: unknown): string[] {
  if (name === 'schema_id') return [`schema ${String(value)}`];
  if (value === true) return [name.replace(/^no_/, 'no ')];
  return typeof value === 'string' ? [value] : [];
}

/** A batch that repairs what differs at a destination. */
function aboutRepair({ ids, ...named }: { ids?: unknown } & object): string {
  if (typeof ids === 'number') return ids === 1 ? 'repair of one discrepancy' : `repair of ${ids} discrepancies`;
  const parts = Object.values(named).filter((value) => typeof value === 'string');
  return ['repair', ...parts.map((part) => part.replaceAll('_', ' '))].join(' · ');
}

/** The state of a batch; of one that is over with how it ended. */
export function BatchChip({ batch }: { batch: Batch }) {
  const { words, tone } = outcomeOf(batch);
  return <Chip state={words} tone={tone} />;
}

export function BatchTable({ batches }: { batches: Batch[] }) {
  if (batches.length === 0) {
    return (
      <Teach title="No batches yet">
        <p>
          A batch sends dead letters again, safely: it is drafted, checked item by item, approved by somebody else, tried on a few, and only
          then run. Begin at <Link to="/queues/dead">a group of dead letters</Link>.
        </p>
      </Teach>
    );
  }
  return (
    <div className="table-wrap">
      <table>
        <caption className="sr">Batches</caption>
        <thead>
          <tr>
            <th scope="col">Batch</th>
            <th scope="col">State</th>
            <th scope="col">Done</th>
            <th scope="col">By</th>
            <th scope="col">Drafted</th>
          </tr>
        </thead>
        <tbody>
          {batches.map((batch) => (
            <BatchRow key={batch.batch_id} batch={batch} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function BatchRow({ batch }: { batch: Batch }) {
  const { batch_id: id, counts, author, edited_by: edited, approver } = batch;
  return (
    <tr data-row>
      <td>
        <Link to={`/batches/${id}`} className="mono">
          {shortId(id)}
        </Link>
        <small>{aboutOf(batch)}</small>
      </td>
      <td>
        <BatchChip batch={batch} />
      </td>
      <td style={{ minWidth: 130 }}>
        <Progress
          share={batch.progress ?? 0}
          label={`Progress of batch ${shortId(id)}`}
          bad={endedBadly(batch) || batch.state === 'stopped'}
        />
        <small>
          {number(counts?.succeeded)} of {number(counts?.approved || counts?.items)}
          {notDelivered(batch) > 0 ? `, ${number(notDelivered(batch))} not delivered` : ''}
        </small>
      </td>
      <td>
        {author}
        {edited !== null && <small>changed by {edited}</small>}
        <small>{approver ? `approved by ${approver}` : 'not approved'}</small>
      </td>
      <td>
        <Ago at={batch.created_at} />
      </td>
    </tr>
  );
}
