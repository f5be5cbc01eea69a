import { useState } from 'react';
import { download } from '../../api/client.js';
import type { Discrepancy, RepairRequest } from '../../api/types.js';
import { Act } from '../../parts/act.js';
import { useChange } from '../../parts/use-change.js';
import { AcceptDialog } from './accept-dialog.js';
import { type DiscrepancyFilter, queryOf } from './discrepancy-filter.js';
import { whyNoAccept, whyNoRepair, whyNotAll } from './discrepancy-words.js';
import { RepairDialog } from './repair-dialog.js';

export type Selection = Pick<RepairRequest, 'ids' | 'filter'> & { name: string };

interface Props {
  ticked: readonly Discrepancy[];
  filter: DiscrepancyFilter;
}

const countOf = (ticked: readonly unknown[]): string => (ticked.length === 1 ? 'one discrepancy' : `${ticked.length} discrepancies`);

/** Why the filter cannot be repaired as a whole: a batch of everything there is was looked at by nobody. */
function whyNoFilter({ state = 'open', ...named }: DiscrepancyFilter): string | undefined {
  if (state !== 'open') return 'Only what is open is repaired: set the state to open';
  const set = Object.values(named).some((value) => value !== undefined);
  return set ? undefined : 'Narrow it first: by what differs, destination, owner, run or lead';
}

/** What can be done with the rows that are ticked, and with the filter as a whole. */
export function DiscrepancyActions({ ticked, filter }: Props) {
  const [repairing, setRepairing] = useState<Selection>();
  const [accepting, setAccepting] = useState<readonly Discrepancy[]>();
  const csv = useChange({ act: () => saveCsv(filter), done: 'The discrepancies were saved', stale: [] });
  const ids = ticked.map(({ discrepancy_id }) => discrepancy_id);
  const { state: _, ...named } = filter;
  return (
    <div className="row">
      <span role="status" className="quiet">
        {ticked.length > 0 ? `${ticked.length} ticked` : ''}
      </span>
      <Act needs="list" busy={csv.isPending} onPress={() => csv.mutate()}>
        Export as CSV
      </Act>
      <Act needs="replay_approve" refused={whyNotAll(ticked, whyNoAccept)} onPress={() => setAccepting(ticked)}>
        Accept as it is …
      </Act>
      <Act
        needs="replay_request"
        refused={whyNoFilter(filter)}
        onPress={() => setRepairing({ filter: named as Selection['filter'], name: 'all that this filter finds' })}
      >
        Repair all of it …
      </Act>
      <Act
        needs="replay_request"
        tone="primary"
        refused={whyNotAll(ticked, whyNoRepair)}
        onPress={() => setRepairing({ ids, name: countOf(ticked) })}
      >
        Draft a repair …
      </Act>
      {repairing !== undefined && <RepairDialog selection={repairing} onClose={() => setRepairing(undefined)} />}
      {accepting !== undefined && (
        <AcceptDialog discrepancies={accepting} name={countOf(accepting)} onClose={() => setAccepting(undefined)} />
      )}
    </div>
  );
}

function saveCsv(filter: DiscrepancyFilter): Promise<void> {
  const set = Object.entries(queryOf(filter)).filter((one): one is [string, string] => one[1] !== undefined);
  return download(`reconciliation/discrepancies.csv?${new URLSearchParams(set)}`, 'discrepancies.csv');
}
