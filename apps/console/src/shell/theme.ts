import { useSyncExternalStore } from 'react';

const key = 'lead-delivery.theme';
export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const listeners = new Set<() => void>();
const system = matchMedia('(prefers-color-scheme: dark)');
const tell = (): void => {
  for (const listener of listeners) listener();
};
system.addEventListener('change', tell);

const isTheme = (value: string | null): value is Theme => (themes as readonly (string | null)[]).includes(value);

function chosenTheme(): Theme {
  const kept = localStorage.getItem(key);
  return isTheme(kept) ? kept : 'system';
}

/** `system` follows the machine. */
export function chooseTheme(theme: Theme): void {
  localStorage.setItem(key, theme);
  applyTheme();
  tell();
}

export function applyTheme(): void {
  const theme = chosenTheme();
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

const shown = (): 'light' | 'dark' => {
  const theme = chosenTheme();
  if (theme !== 'system') return theme;
  return system.matches ? 'dark' : 'light';
};

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The theme that is on the screen. */
export const useTheme = (): 'light' | 'dark' => useSyncExternalStore(subscribe, shown);
export const useChosenTheme = (): Theme => useSyncExternalStore(subscribe, chosenTheme);
