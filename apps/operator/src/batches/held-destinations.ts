import type { DestinationsAnswer } from '#delivery';
import type { BatchTools } from './tools.js';

type DestinationItem = DestinationsAnswer['items'][number];

/** Destinations that are not sent to until a person, or right credentials, let them. Rejects while an owner does not answer. */
export async function heldDestinations(owners: BatchTools['owners']): Promise<ReadonlySet<string>> {
  return new Set((await destinationsOf(owners)).filter(isHeld).map(({ destination }) => destination));
}

export async function destinationsOf(owners: BatchTools['owners']): Promise<DestinationItem[]> {
  const answers = await Promise.all([...owners.values()].map((owner) => owner.destinations()));
  return answers.flatMap(({ items }) => items);
}

export const isHeld = ({ mode, reason }: Pick<DestinationItem, 'mode' | 'reason'>): boolean =>
  mode !== 'flowing' && (reason === 'hold' || reason === 'auth');
