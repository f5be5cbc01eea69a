import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { get } from '../../api/client.js';
import { pollEveryMs } from '../../api/live.js';
import type { Discrepancy, Page } from '../../api/types.js';
import { Answer } from '../../parts/answer.js';
import { Pager } from '../../parts/pager.js';
import { Panel, Teach } from '../../parts/small.js';
import { DiscrepancyActions } from './discrepancy-actions.js';
import { type DiscrepancyFilter, filterNames, queryOf } from './discrepancy-filter.js';
import { DiscrepancyFilters } from './discrepancy-filters.js';
import { DiscrepancyTable } from './discrepancy-table.js';
import { useAddressFilter } from './use-address-filter.js';

export function DiscrepanciesView() {
  const { filter, after, set, clear } = useAddressFilter(filterNames);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const asked = { ...queryOf(filter), after };
  const query = useQuery({
    queryKey: ['reconciliation', 'discrepancies', asked],
    queryFn: ({ signal }) => get<Page<Discrepancy>>('reconciliation/discrepancies', asked, signal),
    placeholderData: (before) => before,
    refetchInterval: pollEveryMs,
  });
  const ticked = (query.data?.items ?? []).filter(({ discrepancy_id: id }) => chosen.has(id));
  return (
    <>
      <DiscrepancyFilters filter={filter} onSet={set} onClear={clear} />
      <Panel title="What differs, oldest first" side={<DiscrepancyActions ticked={ticked} filter={filter} />}>
        <Answer query={query}>
          {({ items, next }) =>
            items.length === 0 && after === undefined ? (
              <NothingDiffers filter={filter} />
            ) : (
              <>
                <DiscrepancyTable discrepancies={items} chosen={chosen} onChoose={setChosen} />
                <Pager next={next} shown={items.length} />
              </>
            )
          }
        </Answer>
      </Panel>
    </>
  );
}

function NothingDiffers({ filter: { state = 'open' } }: { filter: DiscrepancyFilter }) {
  return (
    <Teach title={state === 'open' ? 'Nothing differs that anybody has to decide on' : 'Nothing is like that'}>
      <p>
        A run compares what we delivered with what a destination holds: records that are missing, deleted, there twice, changed by hand, or
        hang on the wrong thing. What it finds stands here with an owner, its evidence and a next step.
      </p>
      <p className="quiet">
        Runs go by themselves as the site file says (<code>reconcile: every</code>); one can be started under Runs.
      </p>
    </Teach>
  );
}
