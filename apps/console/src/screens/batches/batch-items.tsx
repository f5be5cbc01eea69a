import { useQuery } from '@tanstack/react-query';
import { Link, useSearchParams } from 'react-router';
import { download, get } from '../../api/client.js';
import type { Batch, BatchItem, Page } from '../../api/types.js';
import { Act } from '../../parts/act.js';
import { Answer } from '../../parts/answer.js';
import { Pager } from '../../parts/pager.js';
import { Chip, Panel, Teach } from '../../parts/small.js';
import { useChange } from '../../parts/use-change.js';
import { When } from '../../parts/when.js';
import { number, plain, shortId, type Tone } from '../../parts/words.js';

/** What becomes of an item with such a verdict. */
const verdictWords: Readonly<Record<string, string>> = {
  eligible: 'will be sent',
  already_at_destination: 'is there already: nothing to send',
  expired_beyond_max_age: 'is too old to be of use',
  consent_withdrawn: 'the person withdrew consent',
  key_retention_passed: 'the destination may have forgotten the key: a second record could come of it',
  destination_held: 'the destination is held',
  in_flight: 'is under way',
  erased: 'was erased',
  mapping_changed: 'its request would be another one now',
  not_replayable: 'cannot be sent again',
  already_in_batch: 'belongs to another batch, or to a correction that is not over',
  uncertain: 'may have been written: look it up first',
};

export function BatchItems({ batch }: { batch: Batch }) {
  const [params, setParams] = useSearchParams();
  const asked = { outcome: params.get('outcome') ?? undefined, after: params.get('after') ?? undefined };
  const choose = (outcome: string) => setParams(asked.outcome === outcome ? {} : { outcome });
  const query = useQuery({
    queryKey: ['batches', batch.batch_id, 'items', asked],
    queryFn: ({ signal }) => get<Page<BatchItem>>(`batches/${batch.batch_id}/items`, asked, signal),
    placeholderData: (before) => before,
  });
  const csv = useChange({
    act: () => download(`batches/${batch.batch_id}/items.csv`, `batch-${batch.batch_id}.csv`),
    done: 'The items were saved',
    stale: [],
  });
  return (
    <>
      <Panel title="What the dry run says">
        <Histogram verdicts={batch.verdicts} chosen={asked.outcome} onChoose={choose} />
      </Panel>
      <Panel
        title={asked.outcome === undefined ? 'Items' : `Items: ${plain(asked.outcome)}`}
        side={
          <Act needs="list" busy={csv.isPending} onPress={() => csv.mutate()}>
            Export as CSV
          </Act>
        }
      >
        <Answer query={query}>
          {({ items, next }) => (
            <>
              <ItemTable items={items} />
              <Pager next={next === undefined ? undefined : String(next)} shown={items.length} />
            </>
          )}
        </Answer>
      </Panel>
    </>
  );
}

interface HistogramProps {
  verdicts: Record<string, number>;
  chosen: string | undefined;
  onChoose: (verdict: string) => void;
}

const toneOfVerdict = (verdict: string): Tone => (verdict === 'eligible' ? 'ok' : verdict === 'already_at_destination' ? 'wait' : 'held');

function Histogram({ verdicts, chosen, onChoose }: HistogramProps) {
  const rows = Object.entries(verdicts ?? {}).sort(([, a], [, b]) => b - a);
  const all = rows.reduce((sum, [, count]) => sum + count, 0);
  if (all === 0) {
    return (
      <Teach title="Not checked yet">
        <p>The dry run asks the services and the destination about each item and says whether it may be sent again. It sends nothing.</p>
      </Teach>
    );
  }
  return (
    <div className="histogram">
      {rows.map(([verdict, count]) => (
        <button
          key={verdict}
          type="button"
          aria-pressed={chosen === verdict}
          className={`tone-${toneOfVerdict(verdict)}`}
          onClick={() => onChoose(verdict)}
        >
          <span>
            {plain(verdict)}
            <br />
            <small className="quiet">{verdictWords[verdict]}</small>
          </span>
          <span className="bar" aria-hidden="true">
            <i style={{ width: `${(count / all) * 100}%` }} />
          </span>
          <span className="num">{number(count)}</span>
        </button>
      ))}
    </div>
  );
}

function ItemTable({ items }: { items: BatchItem[] }) {
  if (items.length === 0) return <p className="loading">No item is like that.</p>;
  return (
    <div className="table-wrap">
      <table>
        <caption className="sr">Items of the batch</caption>
        <thead>
          <tr>
            <th scope="col">Lead</th>
            <th scope="col">Dry run</th>
            <th scope="col">Outcome</th>
            <th scope="col">Found there</th>
            <th scope="col">Sent</th>
            <th scope="col">Ended</th>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <ItemRow key={item.item_id} item={item} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const correctionId = ({ detail }: BatchItem): string | undefined => /^correction (\S+)$/.exec(detail ?? '')?.[1];

/** What holds a delivery may also be a correction; the verdict has one name for both. */
const verdictName = (item: BatchItem): string =>
  item.verdict === 'already_in_batch' && correctionId(item) !== undefined ? 'in correction' : (item.verdict ?? '');

function Detail({ item, detail }: { item: BatchItem; detail: string }) {
  if (item.verdict !== 'already_in_batch') return <small>{plain(detail)}</small>;
  const correction = correctionId(item);
  return (
    <small>
      <Link to={correction === undefined ? `/batches/${detail}` : `/corrections/${correction}`}>
        {correction === undefined ? `batch ${shortId(detail)}` : `correction ${shortId(correction)}`}
      </Link>
    </small>
  );
}

function ItemRow({ item }: { item: BatchItem }) {
  const { verdict, detail, found } = item;
  return (
    <tr data-row>
      <td>
        <Link to={`/leads/${item.event_id}`} className="mono">
          {shortId(item.event_id)}
        </Link>
        <small>
          {item.destination}
          {item.canary ? ' · canary' : ''}
        </small>
      </td>
      <td>
        {verdict === null ? <span className="quiet">not checked</span> : <Chip state={verdictName(item)} tone={toneOfVerdict(verdict)} />}
        {detail && <Detail item={item} detail={detail} />}
      </td>
      <td>
        <Chip state={item.state} />
        {item.class && <small>{[plain(item.class), item.code].filter(Boolean).join(' · ')}</small>}
      </td>
      <td>{found === null ? '–' : `${plain(found)} (${item.lookups} lookups)`}</td>
      <td>
        <When at={item.sent_at} />
      </td>
      <td>
        <When at={item.closed_at} />
      </td>
    </tr>
  );
}
