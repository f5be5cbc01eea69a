import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { Outlet, useLocation, useNavigate } from 'react-router';
import { followLive, type LiveState, pollEveryMs, useLiveState } from '../api/live.js';
import { useToken } from '../api/session.js';
import { Toasts } from '../parts/toasts.js';
import { HelpDialog } from './help-dialog.js';
import { useKeys } from './keys.js';
import { Rail } from './rail.js';
import { FinderProvider, SearchBox, useFinder } from './search-box.js';

const liveWords: Readonly<Record<LiveState, string>> = {
  connecting: 'Connecting',
  live: 'Live',
  polling: `Asking every ${pollEveryMs / 1_000} s`,
};

function LiveBadge() {
  const state = useLiveState();
  return (
    <span className="live" role="status" data-state={state}>
      <i aria-hidden="true" />
      {liveWords[state]}
    </span>
  );
}

/** After a change of place the focus goes to its start, as it would with a page that was loaded. */
function useFocusOnArrival(pathname: string) {
  const main = useRef<HTMLElement>(null);
  const before = useRef(pathname);
  useEffect(() => {
    if (before.current === pathname) return;
    before.current = pathname;
    main.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [pathname]);
  return main;
}

/** What is around every screen once somebody is signed in. */
export function Frame() {
  return (
    <FinderProvider>
      <FramedScreen />
    </FinderProvider>
  );
}

function FramedScreen() {
  const { pathname } = useLocation();
  const navigate = useNavigate();
  const { input } = useFinder();
  const [helping, setHelping] = useState(false);
  const main = useFocusOnArrival(pathname);
  useLive();
  useKeys({ go: (path) => void navigate(path), find: () => input.current?.select(), help: () => setHelping(true) });
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to the screen
      </a>
      <Rail pathname={pathname} onHelp={() => setHelping(true)} />
      <div>
        <div className="top">
          <SearchBox />
          <LiveBadge />
        </div>
        <main id="main" ref={main} tabIndex={-1}>
          <Outlet />
        </main>
      </div>
      {helping && <HelpDialog onClose={() => setHelping(false)} />}
      <Toasts />
    </div>
  );
}

function useLive(): void {
  const client = useQueryClient();
  const token = useToken();
  useEffect(() => {
    if (token === null) return;
    const control = new AbortController();
    followLive(client, control.signal).catch(() => {
      // The session ended; the sign-in screen says why.
    });
    return () => control.abort();
  }, [client, token]);
}
