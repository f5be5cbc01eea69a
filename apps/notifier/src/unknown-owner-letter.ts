import type { LeadResolved } from '#contracts';
import { type DeadLetterInput, deadLetterRow } from '#delivery';
import type { OutboxRow } from '#messaging';
import type { Site } from '#runtime';
import { decideTelling, type TellableChannel } from './telling/decide-telling.js';

export interface TellingRules {
  site: Pick<Site, 'routing' | 'owners'>;
  channels: ReadonlyMap<string, TellableChannel>;
}

/** Nobody downstream waits for the telling; but a lead that belongs to nobody needs somebody who finds its owner. */
export function unknownOwnerLetters(
  { site, channels }: TellingRules,
  event: LeadResolved,
  told: Omit<DeadLetterInput, 'class'>,
): OutboxRow[] {
  const decided = decideTelling(site, channels, event);
  return decided.tell && decided.unknownOwner ? [deadLetterRow({ ...told, class: 'unknown_owner', code: 'no_owner' })] : [];
}
