// Keeps one stream of "what changed" open, and asks for what is on the screen again when it changed. While no stream can be had, everything on the
// screen is asked for again every few seconds instead.
import type { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { ApiError, send } from './client.js';
import { eventReader } from './event-stream.js';
import { token } from './session.js';

export const pollEveryMs = 5_000;
/** Until a stream that could not be had is tried again. */
const retryAfterMs = 10_000;
/** A stream that says nothing for so long is taken for lost. */
const silentForMs = 60_000;
/** Changes within this time are answered together. */
const gatherMs = 250;

export type LiveState = 'connecting' | 'live' | 'polling';

let state: LiveState = 'connecting';
const listeners = new Set<() => void>();

function become(next: LiveState): void {
  if (state === next) return;
  state = next;
  for (const listener of listeners) listener();
}

export const liveState = (): LiveState => state;

export const useLiveState = (): LiveState =>
  useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, liveState);

/** What a named change makes stale, by the first word of the queries' keys. */
const stale: Record<string, readonly string[]> = {
  'dead-letters': ['dead-letters', 'overview', 'lead'],
  batches: ['batches', 'overview', 'lead'],
  // The queue of what is held names those that nothing is sent to.
  destinations: ['destinations', 'dead-letters', 'overview', 'lead'],
  reconciliation: ['reconciliation', 'overview', 'lead'],
};

/** Runs until the signal is aborted. */
export async function followLive(client: QueryClient, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && token() !== null) {
    await readStream(client, signal).catch((error: unknown) => {
      // A token that is not good any more has ended the session already.
      if (error instanceof ApiError && error.status === 401) throw error;
    });
    if (signal.aborted) return;
    become('polling');
    void client.invalidateQueries();
    await pause(retryAfterMs, signal);
  }
}

async function readStream(client: QueryClient, signal: AbortSignal): Promise<void> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), silentForMs);
  try {
    const response = await send('/v1/live', { signal: AbortSignal.any([signal, silence.signal]) });
    if (response.body === null) return;
    become('live');
    const read = eventReader();
    const refresh = gathering(client);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), silentForMs);
      refresh(read(piece.value).flatMap(({ event, data }) => (event === 'changed' ? namesIn(data) : [])));
    }
  } finally {
    clearTimeout(timer);
  }
}

function namesIn(data: string): string[] {
  try {
    const { what } = JSON.parse(data) as { what?: unknown };
    return Array.isArray(what) ? what.map(String) : [];
  } catch {
    return [];
  }
}

function gathering(client: QueryClient): (names: readonly string[]) => void {
  const waiting = new Set<string>();
  const flush = () => {
    const names = new Set([...waiting].flatMap((name) => stale[name] ?? [name]));
    waiting.clear();
    void client.invalidateQueries({ predicate: ({ queryKey }) => names.has(String(queryKey[0])) });
  };
  return (names) => {
    if (waiting.size === 0 && names.length > 0) setTimeout(flush, gatherMs);
    for (const name of names) waiting.add(name);
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
