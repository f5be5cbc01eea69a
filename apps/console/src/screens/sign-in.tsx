import { useQuery } from '@tanstack/react-query';
import { useEffect, useId, useRef, useState } from 'react';
import { useLocation, useNavigate } from 'react-router';
import { comeBack, consoleConfig, goToProvider, whyNoProvider } from '../api/oidc.js';
import { endedBecause, signIn } from '../api/session.js';
import type { ConsoleConfig } from '../api/types.js';
import icon from '../icon.svg';
import { Failure } from '../parts/small.js';

/** Stands in front of every screen until somebody is signed in; the address stays, so that they arrive where they wanted to go. */
export function SignInScreen() {
  const config = useQuery({ queryKey: ['console-config'], queryFn: consoleConfig, refetchInterval: false }).data;
  const because = endedBecause();
  return (
    <main className="door">
      <div className="door-card">
        <div className="brand">
          <img src={icon} alt="" />
          Lead delivery
        </div>
        <h1>Sign in</h1>
        {because !== undefined && (
          <p className="notice" role="alert">
            {because}. Sign in again to go on where you were.
          </p>
        )}
        {config?.oidc && <ProviderButton oidc={config.oidc} />}
        <TokenForm />
        <p className="quiet">
          The token stays in this tab and is forgotten when you close it. Started with <code>npm start</code>? It printed a token for each
          role.
        </p>
      </div>
    </main>
  );
}

function ProviderButton({ oidc }: { oidc: NonNullable<ConsoleConfig['oidc']> }) {
  const { pathname, search } = useLocation();
  const whyId = useId();
  const [error, setError] = useState<unknown>();
  const why = whyNoProvider(oidc);
  return (
    <div className="stack">
      <button
        type="button"
        className="primary"
        aria-disabled={why !== undefined || undefined}
        aria-describedby={why === undefined ? undefined : whyId}
        onClick={() => why === undefined && void goToProvider(oidc, pathname + search).catch(setError)}
      >
        Sign in with {new URL(oidc.issuer).host}
      </button>
      {why !== undefined && (
        <p id={whyId} className="notice tone-held">
          {why}
        </p>
      )}
      {error !== undefined && <Failure error={error} />}
    </div>
  );
}

function TokenForm() {
  const [text, setText] = useState('');
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== '') signIn(text.trim());
      }}
    >
      <div className="field">
        <label htmlFor="token">Token</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          spellCheck={false}
          value={text}
          aria-describedby="token-help"
          onChange={(event) => setText(event.target.value)}
        />
        <small id="token-help">Whoever runs the service gave it to you. It says who you are in the audit: use your own.</small>
      </div>
      <div>
        <button type="submit">Use this token</button>
      </div>
    </form>
  );
}

/** Where the identity provider sends people back to. */
export function SignedInScreen() {
  const { search } = useLocation();
  const navigate = useNavigate();
  const begun = useRef(false);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    if (begun.current) return;
    begun.current = true;
    comeBack(search).then((target) => void navigate(target, { replace: true }), setError);
  }, [search, navigate]);
  return (
    <main className="door">
      {error === undefined ? (
        <p role="status">Signing in …</p>
      ) : (
        <div className="stack">
          <Failure error={error} />
          <a href="/">Back to the sign-in</a>
        </div>
      )}
    </main>
  );
}
