// Keys that work everywhere. They can be switched off for people whose own tools send single letters.
import { useEffect, useRef, useSyncExternalStore } from 'react';

const storageKey = 'lead-delivery.keys';
const listeners = new Set<() => void>();

/** Where `g` and a letter go. */
export const places: Readonly<Record<string, { path: string; name: string }>> = {
  o: { path: '/', name: 'Overview' },
  s: { path: '/search', name: 'Search' },
  q: { path: '/queues/dead', name: 'Queues' },
  b: { path: '/batches', name: 'Batches' },
  c: { path: '/corrections', name: 'Corrections' },
  d: { path: '/destinations', name: 'Destinations' },
  r: { path: '/reconciliation/discrepancies', name: 'Reconciliation' },
  e: { path: '/erasures', name: 'Erasures' },
  a: { path: '/audit', name: 'Audit' },
  m: { path: '/me', name: 'Access' },
};

const keysOn = (): boolean => localStorage.getItem(storageKey) !== 'off';

export function switchKeys(on: boolean): void {
  localStorage.setItem(storageKey, on ? 'on' : 'off');
  for (const listener of listeners) listener();
}

export const useKeysOn = (): boolean =>
  useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, keysOn);

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) === true) &&
  !isCheckbox(target);
const isCheckbox = (target: HTMLElement): boolean => target instanceof HTMLInputElement && target.type === 'checkbox';

/** Moves between the rows of the list on the screen; the focus is on each row's link. */
function moveRow(by: 1 | -1): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')];
  if (rows.length === 0) return false;
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const row = rows[at === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))];
  const link = row?.querySelector<HTMLElement>('a[href], button');
  link?.focus();
  link?.scrollIntoView({ block: 'nearest' });
  return true;
}

function toggleRow(): boolean {
  const row = document.activeElement?.closest('[data-row]');
  const box = row?.querySelector<HTMLInputElement>('input[type="checkbox"]');
  box?.click();
  return box !== null && box !== undefined;
}

export interface KeyActions {
  go: (path: string) => void;
  find: () => void;
  help: () => void;
}

/** How long after `g` its letter may come. */
const chordMs = 1_200;

/** Does what the key stands for, and tells whether it did. */
function press(key: string, actions: KeyActions, chord: { since: number }): boolean {
  const place = places[key];
  const inChord = performance.now() - chord.since < chordMs;
  chord.since = key === 'g' ? performance.now() : Number.NEGATIVE_INFINITY;
  if (inChord && place !== undefined) {
    actions.go(place.path);
    return true;
  }
  if (key === '/') actions.find();
  else if (key === '?') actions.help();
  else if (key === 'j' || key === 'k') return moveRow(key === 'j' ? 1 : -1);
  else if (key === 'x') return toggleRow();
  else return key === 'g';
  return true;
}

export function useKeys(actions: KeyActions): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const chord = { since: Number.NEGATIVE_INFINITY };
    const onKey = (event: KeyboardEvent) => {
      if (!keysOn() || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
      if (document.querySelector('dialog[open]') !== null) return;
      if (press(event.key, latest.current, chord)) event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}
