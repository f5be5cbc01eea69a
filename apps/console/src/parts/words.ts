// Names of the product in words for people, and how sizes and times are written.
import type { Permission } from '../api/types.js';

export type Tone = 'ok' | 'wait' | 'held' | 'unsure' | 'dead' | 'late' | 'quiet';

/** A glyph beside the word: a state is never told by its colour alone. */
const glyphs: Record<Tone, string> = { ok: '✓', wait: '…', held: '‖', unsure: '?', dead: '×', late: '!', quiet: '·' };

const tones: Readonly<Record<string, Tone>> = {
  delivered: 'ok',
  succeeded: 'ok',
  sent: 'ok',
  finished: 'ok',
  done: 'ok',
  closed: 'ok',
  will_send: 'ok',
  eligible: 'ok',
  ok: 'ok',
  running: 'wait',
  canary: 'wait',
  approved: 'wait',
  checked: 'wait',
  draft: 'quiet',
  tasks: 'held',
  complete: 'ok',
  waiting: 'wait',
  pending: 'wait',
  accepted: 'wait',
  in_flight: 'wait',
  flowing: 'ok',
  blocked: 'held',
  probing: 'held',
  ramping: 'held',
  held: 'held',
  paused: 'held',
  hold: 'held',
  uncertain: 'unsure',
  verified: 'unsure',
  dead: 'dead',
  failed: 'dead',
  stopped: 'dead',
  expired: 'late',
  throttled: 'held',
  repairing: 'wait',
  repaired: 'ok',
  repair_failed: 'dead',
  gone: 'quiet',
  high: 'dead',
  normal: 'held',
  low: 'quiet',
};

export const toneOf = (state: string): Tone => tones[state] ?? 'quiet';
export const glyphOf = (tone: Tone): string => glyphs[tone];

/** `in_flight` as `in flight`. */
export const plain = (name: string): string => name.replaceAll('_', ' ');

export const sentence = (name: string): string => {
  const text = plain(name);
  return text.charAt(0).toUpperCase() + text.slice(1);
};

export const permissionWords: Readonly<Record<Permission, string>> = {
  list: 'See queues, leads by reference, batches and destinations',
  reveal: 'See what a person wrote, for five minutes, with a reason',
  replay_request: 'Draft batches and corrections, run lookups, give evidence',
  replay_approve: 'Approve what somebody else drafted',
  delete: 'Approve an erasure that somebody else drafted',
  configure: 'Hold, release and test destinations',
};

export const number = (value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : new Intl.NumberFormat('en').format(value);

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** `3 d 4 h`: the two largest units; `1.8 s` under ten seconds, `320 ms` under one. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return '–';
  if (ms < 0) return `-${duration(-ms)}`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${Math.floor(ms / 100) / 10} s`;
  const index = units.findIndex(([, size]) => ms >= size);
  const [unit, size] = units[index] ?? ['s', 1_000];
  const next = units[index + 1];
  const rest = next === undefined ? 0 : Math.floor((ms % size) / next[1]);
  return `${Math.floor(ms / size)} ${unit}${next !== undefined && rest > 0 ? ` ${rest} ${next[0]}` : ''}`;
}

/** The first block of a UUID, which is enough to tell two apart at a glance. */
export const shortId = (id: string): string => (/^[0-9a-f]{8}-/.test(id) ? `${id.slice(0, 8)}…${id.slice(-4)}` : id);
