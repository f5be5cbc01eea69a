import { useQuery } from '@tanstack/react-query';
import { download, get } from '../../api/client.js';
import type { Balances } from '../../api/types.js';
import { Act } from '../../parts/act.js';
import { Answer } from '../../parts/answer.js';
import { Panel, Teach } from '../../parts/small.js';
import { TypedFilter } from '../../parts/typed-filter.js';
import { useChange } from '../../parts/use-change.js';
import { BalanceTable, ReceivedTable } from './balance-tables.js';
import { useAddressFilter } from './use-address-filter.js';

const names = ['from', 'to', 'source', 'destination'] as const;
const words = { from: 'From day', to: 'To day', source: 'Source', destination: 'Destination' } as const;

export function BalancesView() {
  const { filter, set, clear } = useAddressFilter(names);
  const query = useQuery({
    queryKey: ['reconciliation', 'balances', filter],
    queryFn: ({ signal }) => get<Balances>('reconciliation/balances', filter, signal),
    placeholderData: (before) => before,
  });
  const used = Object.entries(filter).filter((one): one is [string, string] => one[1] !== undefined);
  const csv = useChange({
    act: () => download(`reconciliation/balances.csv?${new URLSearchParams(used)}`, 'balances.csv'),
    done: 'The balances were saved',
    stale: [],
  });
  return (
    <>
      <section className="toolbar" aria-label="Filter">
        {names.map((name) => (
          <TypedFilter
            key={`${name}${filter[name] ?? ''}`}
            label={words[name]}
            value={filter[name] ?? ''}
            onSet={(value) => set({ [name]: value })}
          />
        ))}
        {used.length > 0 && (
          <button type="button" onClick={clear}>
            Clear
          </button>
        )}
      </section>
      <Answer query={query}>{(balances) => <Days balances={balances} onSave={() => csv.mutate()} saving={csv.isPending} />}</Answer>
    </>
  );
}

function Days({ balances: { items, received }, onSave, saving }: { balances: Balances; onSave: () => void; saving: boolean }) {
  const save = (
    <Act needs="list" busy={saving} onPress={onSave}>
      Export as CSV
    </Act>
  );
  return (
    <>
      <Panel title="Accepted, and where it is found" side={save}>
        {items.length === 0 ? (
          <Teach title="No balance of these days">
            <p>
              The balance is taken by itself: of each day, source and destination, what was accepted must be found in exactly one state. A
              day is closed once all its deliveries are final.
            </p>
            <p className="quiet">
              <code>npm run leadctl -- balance</code> takes it now.
            </p>
          </Teach>
        ) : (
          <BalanceTable days={items} />
        )}
      </Panel>
      {received.length > 0 && (
        <Panel title="Received, and what became of it">
          <ReceivedTable days={received} />
        </Panel>
      )}
    </>
  );
}
