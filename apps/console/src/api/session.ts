// The person's token, kept for this tab alone. It is never in the address sent to a server, in a cookie or in storage that outlives the tab.
import { useSyncExternalStore } from 'react';

const key = 'lead-delivery.token';
const listeners = new Set<() => void>();
let why: string | undefined;

/** The token, or null when nobody is signed in. */
export const token = (): string | null => sessionStorage.getItem(key);

/** Why the last session ended, for the sign-in screen. */
export const endedBecause = (): string | undefined => why;

export function signIn(value: string): void {
  why = undefined;
  sessionStorage.setItem(key, value);
  for (const listener of listeners) listener();
}

export function signOut(because?: string): void {
  why = because;
  sessionStorage.removeItem(key);
  for (const listener of listeners) listener();
}

/** Takes a token that a demo link carries behind `#token=`, and removes it from the address and the history entry. */
export function takeTokenFromAddress(): void {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given === null) return;
  history.replaceState(null, '', location.pathname + location.search);
  signIn(given);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useToken = (): string | null => useSyncExternalStore(subscribe, token);
