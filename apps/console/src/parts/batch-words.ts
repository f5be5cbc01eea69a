// How a batch ended, by what became of its items: "finished" says only that none is under way.
import type { Batch } from '../api/types.js';
import { number, plain, type Tone, toneOf } from './words.js';

type Ended = Pick<Batch, 'state'> & { counts?: Partial<Batch['counts']> | null };

const badly = [
  ['failed', 'failed'],
  ['uncertain', 'uncertain'],
  ['not_applied', 'not applied'],
] as const;

/** Items that did not have their effect, or of which nobody knows. */
export const notDelivered = ({ counts }: Ended): number => badly.reduce((sum, [name]) => sum + (counts?.[name] ?? 0), 0);

/** True: it is over and something is left to see to. */
export const endedBadly = (batch: Ended): boolean => batch.state === 'finished' && notDelivered(batch) > 0;

/** `finished, 3 failed`, with the tone of what is worst in it. */
export function outcomeOf(batch: Ended): { words: string; tone: Tone } {
  if (!endedBadly(batch)) return { words: plain(batch.state), tone: toneOf(batch.state) };
  const told = badly.filter(([name]) => (batch.counts?.[name] ?? 0) > 0).map(([name, word]) => `${number(batch.counts?.[name])} ${word}`);
  return { words: ['finished', ...told].join(', '), tone: 'dead' };
}
