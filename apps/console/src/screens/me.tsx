import { useMe } from '../api/me.js';
import { type Me, type Permission, permissions } from '../api/types.js';
import { Answer } from '../parts/answer.js';
import { Chip, Panel, ScreenHead } from '../parts/small.js';
import { permissionWords } from '../parts/words.js';

const matrix: Readonly<Record<Me['roles'][number], readonly Permission[]>> = {
  viewer: ['list'],
  operator: ['list', 'reveal', 'replay_request', 'configure'],
  approver: ['list', 'replay_approve', 'delete'],
  admin: permissions,
};

export function MeScreen() {
  const query = useMe();
  return (
    <div className="screen">
      <ScreenHead title="Access" about="Who you are here, what you may do, and why some buttons are off for you." />
      <Answer query={query}>
        {(me) => (
          <>
            <Identity me={me} />
            <Mine me={me} />
            <Roles me={me} />
          </>
        )}
      </Answer>
    </div>
  );
}

function Identity({ me }: { me: Me }) {
  const { single_operator_policy: alone, organizations } = me;
  return (
    <Panel title={me.name}>
      <dl className="facts inside">
        <dt>Subject</dt>
        <dd>
          <code>{me.subject}</code>
        </dd>
        <dt>Roles</dt>
        <dd>{me.roles.join(', ') || 'none'}</dd>
        <dt>Organizations</dt>
        <dd>{organizations === '*' ? 'all' : organizations.join(', ') || 'none'}</dd>
        <dt>Alone</dt>
        <dd>
          {alone
            ? `One person may approve their own batch of up to ${alone.max} items here, if they may approve at all.`
            : 'Nobody approves what they drafted. Two tokens of one person are one person.'}
        </dd>
      </dl>
    </Panel>
  );
}

function Mine({ me }: { me: Me }) {
  return (
    <Panel title="What you may do">
      <div className="table-wrap">
        <table>
          <thead>
            <tr>
              <th scope="col">Permission</th>
              <th scope="col">It lets you</th>
              <th scope="col">You</th>
            </tr>
          </thead>
          <tbody>
            {permissions.map((permission) => (
              <tr key={permission}>
                <td>
                  <code>{permission}</code>
                </td>
                <td>{permissionWords[permission]}</td>
                <td>
                  {me.permissions.includes(permission) ? <Chip state="yes" tone="ok" /> : <Chip state="no" tone="quiet" />}
                  <small>{me.refused?.[permission]}</small>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function Roles({ me }: { me: Me }) {
  return (
    <Panel title="Roles">
      <div className="table-wrap">
        <table className="matrix">
          <thead>
            <tr>
              <th scope="col">Role</th>
              {permissions.map((permission) => (
                <th key={permission} scope="col">
                  {permission}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {Object.entries(matrix).map(([role, held]) => (
              <tr key={role}>
                <th scope="row">
                  {role} {me.roles.some((mine) => mine === role) && <span className="chip tone-ok">yours</span>}
                </th>
                {permissions.map((permission) => (
                  <td key={permission}>{held.includes(permission) ? 'yes' : <span className="quiet">–</span>}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
