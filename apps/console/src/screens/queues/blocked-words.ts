// What a queue of held leads says of destinations that nothing is sent to.
import type { BlockedDestination } from '../../api/types.js';
import { number, plain } from '../../parts/words.js';

/** Why nothing is sent there. */
export const whyBlocked = ({ hold, reason }: Pick<BlockedDestination, 'hold' | 'reason'>): string =>
  hold === undefined ? `is not sent to: ${plain(reason)}` : `is held by ${hold.by}: ${hold.reason}`;

/** How many leads lie on its topic: they are in no group. Undefined: of a channel nobody counts them. */
export function onTopic({ unclaimed }: Pick<BlockedDestination, 'unclaimed'>): string | undefined {
  if (unclaimed === undefined) return undefined;
  const { count, at_most: atMost, unknown } = unclaimed;
  if (count === undefined) return `How many leads wait on its topic cannot be told now (${plain(unknown ?? 'unknown')}).`;
  if (count === 0) return 'No leads wait on its topic.';
  const leads = count === 1 ? 'lead waits' : 'leads wait';
  return `${atMost === true ? 'At most ' : ''}${number(count)} ${leads} on its topic: they came meanwhile, stand in no group, and are taken up once something is sent there again.`;
}
