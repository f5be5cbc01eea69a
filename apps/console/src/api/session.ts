// The person's token, kept for this tab alone. It is never in the address sent to a server, in a cookie or in storage that outlives the tab.
import { useSyncExternalStore } from 'react';

const key = 'lead-delivery.token';
const listeners = new Set<() => void>();
const forgetting: (() => void)[] = [];
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

/** Called at each end of a session, before the screens know of it. */
export function onSignOut(forget: () => void): void {
  forgetting.push(forget);
}

export function signOut(because?: string): void {
  why = because;
  sessionStorage.removeItem(key);
  for (const forget of forgetting) forget();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useToken = (): string | null => useSyncExternalStore(subscribe, token);
