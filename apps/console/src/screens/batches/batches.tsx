import { useQuery } from '@tanstack/react-query';
import { Link, useSearchParams } from 'react-router';
import { get } from '../../api/client.js';
import type { Batch, Page } from '../../api/types.js';
import { Answer } from '../../parts/answer.js';
import { Choice } from '../../parts/field.js';
import { Pager } from '../../parts/pager.js';
import { Panel, ScreenHead } from '../../parts/small.js';
import { BatchTable } from './batch-table.js';

const states = ['', 'draft', 'checked', 'approved', 'canary', 'running', 'paused', 'finished', 'stopped', 'expired'];

export function BatchesScreen() {
  const [params, setParams] = useSearchParams();
  const asked = { state: params.get('state') ?? undefined, after: params.get('after') ?? undefined };
  const query = useQuery({
    queryKey: ['batches', 'list', asked],
    queryFn: ({ signal }) => get<Page<Batch>>('batches', asked, signal),
    placeholderData: (before) => before,
  });
  return (
    <div className="screen">
      <ScreenHead title="Batches" about="Dead letters sent again: drafted by one person, approved by another, tried on a few first.">
        <Choice
          label="State"
          value={asked.state ?? ''}
          options={states.map((state) => [state, state === '' ? 'any' : state] as const)}
          onChange={(state) => setParams(state === '' ? {} : { state })}
        />
        <Link className="button primary" to="/batches/new">
          Draft a batch
        </Link>
      </ScreenHead>
      <Panel>
        <Answer query={query}>
          {({ items, next }) => (
            <>
              <BatchTable batches={items} />
              <Pager next={next} shown={items.length} />
            </>
          )}
        </Answer>
      </Panel>
    </div>
  );
}
