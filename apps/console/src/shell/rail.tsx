import { Link } from 'react-router';
import { useMe } from '../api/me.js';
import { signOut } from '../api/session.js';
import icon from '../icon.svg';
import { Choice } from '../parts/field.js';
import { places, useKeysOn } from './keys.js';
import { chooseTheme, themes, useChosenTheme } from './theme.js';

/** A place is marked for everything below it. */
const section = (path: string): string => `/${path.split('/')[1] ?? ''}`;

function isHere(path: string, pathname: string): boolean {
  const start = section(path);
  if (start === '/') return pathname === '/';
  return pathname === start || pathname.startsWith(`${start}/`) || (start === '/search' && pathname.startsWith('/leads/'));
}

export function Rail({ pathname, onHelp }: { pathname: string; onHelp: () => void }) {
  const keysOn = useKeysOn();
  return (
    <nav className="rail" aria-label="Console">
      <Link to="/" className="brand">
        <img src={icon} alt="" />
        Lead delivery
      </Link>
      <ul className="rail-links">
        {Object.entries(places).map(([key, { path, name }]) => (
          <li key={key}>
            <Link to={path} aria-current={isHere(path, pathname) ? 'page' : undefined}>
              {name}
              {keysOn && (
                <span className="keys" aria-hidden="true">
                  g {key}
                </span>
              )}
            </Link>
          </li>
        ))}
      </ul>
      <RailFoot onHelp={onHelp} />
    </nav>
  );
}

function RailFoot({ onHelp }: { onHelp: () => void }) {
  const me = useMe().data;
  const theme = useChosenTheme();
  return (
    <div className="rail-foot">
      {me !== undefined && (
        <p>
          <Link to="/me">{me.name}</Link>
          <br />
          <span className="quiet">{me.roles.join(', ')}</span>
        </p>
      )}
      <Choice
        label="Theme"
        value={theme}
        options={themes.map((name) => [name, name] as const)}
        onChange={(value) => chooseTheme(themes.find((name) => name === value) ?? 'system')}
      />
      <div className="row">
        <button type="button" className="plain" onClick={onHelp}>
          Keys <kbd>?</kbd>
        </button>
        <button type="button" className="plain" onClick={() => signOut()}>
          Sign out
        </button>
      </div>
    </div>
  );
}
