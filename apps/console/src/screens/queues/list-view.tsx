import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { get } from '../../api/client.js';
import type { DeadLetter, LetterList } from '../../api/types.js';
import { Act } from '../../parts/act.js';
import { Answer } from '../../parts/answer.js';
import { Pager } from '../../parts/pager.js';
import { Panel } from '../../parts/small.js';
import { BesideQueue, NothingHere } from './beside-queue.js';
import { type Deciding, type Decision, DecisionDialog, onDuty, targetOfIds } from './decision-dialog.js';
import { DismissDialog, type Dismissing } from './dismiss-dialog.js';
import { whyWait } from './group-reach.js';
import { LetterTable } from './letter-table.js';
import { queryOf, useQueueFilter } from './use-filter.js';

export function ListView({ tab }: { tab: string }) {
  const { filter } = useQueueFilter();
  const asked = queryOf(tab, filter);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const query = useQuery({
    queryKey: ['dead-letters', 'list', asked],
    queryFn: ({ signal }) => get<LetterList>('dead-letters', asked, signal),
    placeholderData: (before) => before,
  });
  return (
    <Panel title="One by one" side={<Selection letters={(query.data?.items ?? []).filter(({ dead_letter_id: id }) => chosen.has(id))} />}>
      <Answer query={query}>
        {({ items, next, ...beside }) => (
          <>
            <BesideQueue {...beside} />
            {items.length === 0 && next === undefined ? (
              <NothingHere tab={tab} beside={beside} />
            ) : (
              <>
                <LetterTable letters={items} chosen={chosen} onChoose={setChosen} />
                <Pager next={next} shown={items.length} />
              </>
            )}
          </>
        )}
      </Answer>
    </Panel>
  );
}

/** What can be done with the rows that are ticked. */
function Selection({ letters }: { letters: DeadLetter[] }) {
  const navigate = useNavigate();
  const [deciding, setDeciding] = useState<Deciding>();
  const [dismissing, setDismissing] = useState<Dismissing>();
  const ids = letters.map(({ dead_letter_id }) => dead_letter_id);
  const decide = (decision: Decision) => setDeciding({ decision, target: targetOfIds(ids) });
  const open = letters.find(({ state }) => state === 'held' || state === 'uncertain');
  const waits = open && whyWait(open.state);
  const none = letters.length === 0 ? 'Tick some rows first (x ticks the row you are on)' : waits;
  const destinations = new Set(letters.map(({ destination }) => destination));
  const mixed = destinations.size > 1 ? 'A batch goes to one destination: tick rows of one only' : undefined;
  const draft = () => {
    const eventIds = letters.flatMap(({ event_id }) => event_id ?? []);
    const filter = { event_ids: eventIds, destination: letters[0]?.destination ?? undefined };
    void navigate('/batches/new', { state: { filter, count: eventIds.length } });
  };
  return (
    <div className="row">
      <span role="status" className="quiet">
        {letters.length > 0 ? `${letters.length} ticked` : ''}
      </span>
      <Act needs={onDuty} refused={none} onPress={() => decide('assign')}>
        Assign …
      </Act>
      <Act needs={onDuty} refused={none} onPress={() => decide('note')}>
        Note …
      </Act>
      <Act needs={onDuty} refused={none} onPress={() => decide('disposition')}>
        Decide …
      </Act>
      <Act needs={onDuty} refused={none} onPress={() => setDismissing({ what: { ids }, count: ids.length })}>
        Dismiss …
      </Act>
      <Act needs="replay_request" refused={none ?? mixed} tone="primary" onPress={draft}>
        Draft a batch
      </Act>
      {dismissing !== undefined && <DismissDialog {...dismissing} onClose={() => setDismissing(undefined)} />}
      {deciding !== undefined && <DecisionDialog {...deciding} onClose={() => setDeciding(undefined)} />}
    </div>
  );
}
