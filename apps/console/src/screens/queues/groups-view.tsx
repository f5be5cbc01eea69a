import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { get } from '../../api/client.js';
import type { LetterGroup, LetterGroups } from '../../api/types.js';
import { Act } from '../../parts/act.js';
import { Answer } from '../../parts/answer.js';
import { Panel, Spark } from '../../parts/small.js';
import { Ago } from '../../parts/when.js';
import { number, plain, sentence } from '../../parts/words.js';
import { BesideQueue, NothingHere } from './beside-queue.js';
import { type Deciding, DecisionDialog, onDuty, targetOfGroup } from './decision-dialog.js';
import { DismissDialog, type Dismissing } from './dismiss-dialog.js';
import { batchFilterOf, isLive, whyNoReplay, whyPartial, whyWait } from './group-reach.js';
import { Runbook } from './runbook.js';
import { type QueueFilter, queryOf, useQueueFilter } from './use-filter.js';

export function GroupsView({ tab }: { tab: string }) {
  const { filter } = useQueueFilter();
  const asked = queryOf(tab, filter);
  const query = useQuery({
    queryKey: ['dead-letters', 'groups', asked],
    queryFn: ({ signal }) => get<LetterGroups>('dead-letters/groups', asked, signal),
    placeholderData: (before) => before,
  });
  return (
    <Panel title="Groups: same cause, same destination">
      <Answer query={query}>
        {({ items, as_of, left_out, ...beside }) => (
          <>
            <BesideQueue {...beside} />
            {items.length === 0 ? (
              <NothingHere tab={tab} beside={beside} />
            ) : (
              <GroupTable shown={{ groups: items, asOf: as_of, tab, filter, old: query.isPlaceholderData }} />
            )}
            {left_out > 0 && <p className="pager">{number(left_out)} smaller groups are not shown: narrow the filter to see them.</p>}
          </>
        )}
      </Answer>
    </Panel>
  );
}

/** What the screen shows, and under which filter it was asked for. */
interface Shown {
  groups: LetterGroup[];
  asOf: string;
  tab: string;
  filter: QueueFilter;
  /** It is still the answer to the filter of before. */
  old: boolean;
}

function GroupTable({ shown }: { shown: Shown }) {
  return (
    <div className="table-wrap">
      <table>
        <caption className="sr">Groups of dead letters</caption>
        <thead>
          <tr>
            <th scope="col">Cause</th>
            <th scope="col" className="num">
              Leads
            </th>
            <th scope="col">Last 24 hours</th>
            <th scope="col">First and last</th>
            <th scope="col">Whose turn</th>
            <th scope="col">What to do</th>
            <th scope="col">
              <span className="sr">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.groups.map((group) => (
            <GroupRow key={group.key} group={group} shown={shown} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The address of the group's own list. What has no dead letters yet is listed by its cause. */
function listOf(group: LetterGroup, tab: string): string {
  const parts = {
    view: 'list',
    group: isLive(group) ? undefined : group.key,
    class: group.class,
    destination: group.destination,
    code: group.code,
  };
  const set = Object.entries(parts).filter(([, value]) => value !== null && value !== undefined && value !== '');
  return `/queues/${tab}?${new URLSearchParams(set.map(([name, value]): [string, string] => [name, String(value)]))}`;
}

function GroupRow({ group, shown }: { group: LetterGroup; shown: Shown }) {
  const { overdue } = group;
  return (
    <tr data-row>
      <td>
        <Link to={listOf(group, shown.tab)}>{sentence(group.class)}</Link>
        {group.code && (
          <>
            {' '}
            <code>{group.code}</code>
          </>
        )}
        <small>
          {group.destination ?? 'no destination'}
          {group.schema_id === null ? '' : ` · schema ${group.schema_id}`}
        </small>
      </td>
      <td className="num">{number(group.count)}</td>
      <td>
        <Spark values={group.trend} label={`${number(group.trend.reduce((sum, value) => sum + value, 0))} in the last 24 hours`} />
      </td>
      <td>
        <Ago at={group.first_at} />
        <small>
          last <Ago at={group.last_at} />
        </small>
      </td>
      <td>
        {group.assignee ?? plain(group.owner)}
        <small className={overdue > 0 ? 'toned tone-dead' : undefined}>
          {overdue > 0 ? 'was due ' : 'due '}
          <Ago at={group.respond_by} />
        </small>
      </td>
      <td style={{ minWidth: 220 }}>
        {group.next_action ?? plain(group.disposition)}
        <small>
          {plain(group.disposition)} <Runbook path={group.runbook} />
        </small>
      </td>
      <td>
        <GroupActions group={group} shown={shown} />
      </td>
    </tr>
  );
}

/** As it was shown: what came later is not dismissed unseen. */
const dismissingOf = ({ key, count }: LetterGroup, asOf: string): Dismissing => ({
  what: { group: { key, as_of: asOf }, expected: count },
  count,
});

function GroupActions({ group, shown }: { group: LetterGroup; shown: Shown }) {
  const navigate = useNavigate();
  const [deciding, setDeciding] = useState<Deciding>();
  const [dismissing, setDismissing] = useState<Dismissing>();
  const { filter, asOf } = shown;
  const waits = (isLive(group) ? whyWait(shown.tab) : undefined) ?? (shown.old ? 'The groups of this filter are not here yet' : undefined);
  const draft = () => void navigate('/batches/new', { state: { filter: batchFilterOf(group, filter), count: group.count } });
  return (
    <div className="row" style={{ flexWrap: 'nowrap' }}>
      <Act needs="replay_request" refused={waits ?? whyNoReplay(group, filter)} onPress={draft}>
        Replay …
      </Act>
      <Act
        needs={onDuty}
        refused={waits ?? whyPartial(filter)}
        onPress={() => setDeciding({ decision: 'disposition', target: targetOfGroup(group, asOf) })}
      >
        Decide …
      </Act>
      <Act needs={onDuty} refused={waits ?? whyPartial(filter)} onPress={() => setDismissing(dismissingOf(group, asOf))}>
        Dismiss …
      </Act>
      {dismissing !== undefined && <DismissDialog {...dismissing} onClose={() => setDismissing(undefined)} />}
      {deciding !== undefined && <DecisionDialog {...deciding} onClose={() => setDeciding(undefined)} />}
    </div>
  );
}
