import { useQuery } from '@tanstack/react-query';
import { useParams } from 'react-router';
import { get, post } from '../api/client.js';
import { useMe } from '../api/me.js';
import type { Erasure } from '../api/types.js';
import { Act } from '../parts/act.js';
import { Answer } from '../parts/answer.js';
import { Chip, Id, Panel, Progress, ScreenHead } from '../parts/small.js';
import { useChange } from '../parts/use-change.js';
import { number, plain } from '../parts/words.js';

const stale = ['erasures', 'audit', 'lead'];

export function ErasureScreen() {
  const { erasureId = '' } = useParams();
  const query = useQuery({
    queryKey: ['erasures', erasureId],
    queryFn: ({ signal }) => get<Erasure>(`erasures/${encodeURIComponent(erasureId)}`, {}, signal),
  });
  return (
    <div className="screen">
      <ScreenHead title="Erasure" about={<Id value={erasureId} label="erasure id" whole />}>
        {query.data && <Approve erasure={query.data} />}
      </ScreenHead>
      <Answer query={query}>
        {(erasure) => (
          <>
            <Course erasure={erasure} />
            <Places erasure={erasure} />
            <Tasks erasure={erasure} />
          </>
        )}
      </Answer>
    </div>
  );
}

function Approve({ erasure }: { erasure: Erasure }) {
  const me = useMe().data;
  const approve = useChange({
    act: () => post(`erasures/${erasure.erasure_id}/approve`, { hash: erasure.hash }),
    done: 'Approved. It is carried out now and cannot be taken back.',
    stale,
  });
  const own = erasure.author === me?.subject ? 'You drafted it: somebody else must approve it' : undefined;
  return (
    <Act
      needs="delete"
      refused={erasure.state === 'draft' ? own : `It is ${plain(erasure.state)}`}
      tone="danger"
      busy={approve.isPending}
      onPress={() => approve.mutate()}
    >
      Approve and erase
    </Act>
  );
}

function Course({ erasure }: { erasure: Erasure }) {
  const all = erasure.places.length + erasure.tasks.length;
  const done = [...erasure.places, ...erasure.tasks].filter((one) => one.done).length;
  return (
    <Panel title="Course" side={<Chip state={erasure.state} />}>
      <div className="inside stack">
        <Progress share={all === 0 ? 0 : done / all} label="Places and tasks done" />
        <p className="quiet">
          {done} of {all} done. {number(erasure.leads.length)} leads, named by {plain(erasure.kind)}. Drafted by {erasure.author}
          {erasure.approver ? `, approved by ${erasure.approver}` : ''}. {erasure.reason}
        </p>
        {erasure.more && <p className="notice tone-held">The person has more leads than one erasure takes: draft another afterwards.</p>}
      </div>
    </Panel>
  );
}

function Places({ erasure: { places } }: { erasure: Erasure }) {
  return (
    <Panel title="Places here">
      <div className="table-wrap">
        <table>
          <thead>
            <tr>
              <th scope="col">Place</th>
              <th scope="col" className="num">
                Before
              </th>
              <th scope="col" className="num">
                After
              </th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {places.map(({ place, before, after, done }) => (
              <tr key={place}>
                <td>{plain(place)}</td>
                <td className="num">{number(before)}</td>
                <td className="num">{number(after)}</td>
                <td>
                  <Chip state={done ? 'done' : 'pending'} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function Tasks({ erasure }: { erasure: Erasure }) {
  const finish = useChange({
    act: (task: string) => post(`erasures/${erasure.erasure_id}/tasks/${encodeURIComponent(task)}/done`),
    done: 'Recorded as deleted there',
    stale,
  });
  if (erasure.tasks.length === 0) return null;
  return (
    <Panel title="To delete at destinations">
      <ul className="inside stack">
        {erasure.tasks.map(({ task_id, destination, kind, ref, done }) => (
          <li key={task_id} className="row spread">
            <span>
              {destination}: {plain(kind)} <code>{ref}</code>
            </span>
            <Act
              needs={['replay_request', 'delete']}
              refused={done ? 'It is done' : undefined}
              busy={finish.isPending}
              onPress={() => finish.mutate(task_id)}
            >
              {done ? 'Deleted there' : 'It is deleted there'}
            </Act>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
