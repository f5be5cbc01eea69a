import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { get } from '../../api/client.js';
import { pollEveryMs } from '../../api/live.js';
import type { Page, ReconciliationRun } from '../../api/types.js';
import { Act } from '../../parts/act.js';
import { Answer } from '../../parts/answer.js';
import { Choice } from '../../parts/field.js';
import { Pager } from '../../parts/pager.js';
import { Panel, Teach } from '../../parts/small.js';
import { TypedFilter } from '../../parts/typed-filter.js';
import { RunTable } from './run-table.js';
import { StartDialog } from './start-dialog.js';
import { useAddressFilter } from './use-address-filter.js';

const states = ['', 'waiting', 'running', 'finished', 'stopped', 'failed'];
/** A run under way counts on with every page that it reads. */
const movingEveryMs = 2_000;
const isMoving = ({ state }: ReconciliationRun): boolean => state === 'waiting' || state === 'running';

export function RunsView() {
  const { filter, after, set } = useAddressFilter(['destination', 'state']);
  const [starting, setStarting] = useState(false);
  const asked = { ...filter, after };
  const query = useQuery({
    queryKey: ['reconciliation', 'runs', asked],
    queryFn: ({ signal }) => get<Page<ReconciliationRun>>('reconciliation/runs', asked, signal),
    placeholderData: (before) => before,
    refetchInterval: ({ state: { data } }) => (data?.items.some(isMoving) ? movingEveryMs : pollEveryMs),
  });
  return (
    <>
      <section className="toolbar" aria-label="Filter">
        <TypedFilter
          key={filter.destination ?? ''}
          label="Destination"
          value={filter.destination ?? ''}
          onSet={(destination) => set({ destination })}
        />
        <Choice
          label="State"
          value={filter.state ?? ''}
          options={states.map((state) => [state, state === '' ? 'any' : state] as const)}
          onChange={(state) => set({ state })}
        />
        <Act needs="replay_request" tone="primary" onPress={() => setStarting(true)}>
          Start a run …
        </Act>
      </section>
      <Panel title="Runs, newest first">
        <Answer query={query}>
          {({ items, next }) =>
            items.length === 0 && after === undefined ? (
              <Teach title="No run yet">
                <p>
                  A destination whose site file says <code>reconcile: every</code> is compared by itself. A run can also be started here,
                  for one destination and a window, and stopped at any moment: it only reads.
                </p>
              </Teach>
            ) : (
              <>
                <RunTable runs={items} />
                <Pager next={next} shown={items.length} />
              </>
            )
          }
        </Answer>
      </Panel>
      {starting && <StartDialog destination={filter.destination} onClose={() => setStarting(false)} />}
    </>
  );
}
