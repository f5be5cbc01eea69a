import { failureClasses, parseNotificationName, refusedRecord, unrouted } from '#contracts';
import type { Site } from '#runtime';

export interface NoticeCount {
  class: string;
  destination: string | null;
  count: number;
}

export interface NoticeFacts {
  owner: string;
  ownerName?: string;
  letters: number;
  counts: readonly NoticeCount[];
  respondBy: Date;
  /** Leads of tests alone. */
  test: boolean;
  /** Letters of messages before this one that may not have arrived. */
  untold: number;
  consoleUrl: string;
}

const mostLines = 10;

/** Names that stand in the code or the site file. A record of somebody else's may call itself anything. */
function safeNames(site: Pick<Site, 'destinations'>, { class: failure, destination }: NoticeCount): { class: string; destination: string } {
  const known = (failureClasses as readonly string[]).includes(failure);
  return { class: known ? failure : 'other', destination: safeDestination(site, destination) };
}

function safeDestination(site: Pick<Site, 'destinations'>, destination: string | null): string {
  if (destination === null || destination === refusedRecord) return 'no destination';
  if (destination === unrouted || Object.hasOwn(site.destinations, destination)) return destination;
  return parseNotificationName(destination) === undefined ? 'another destination' : 'notifications';
}

/** What an owner is told: counts and names of the configuration, nothing of a lead. */
export function noticeText(site: Pick<Site, 'destinations'>, facts: NoticeFacts): string {
  const { owner, ownerName = owner, letters, respondBy, test, untold, consoleUrl } = facts;
  const counts = summed(site, facts.counts);
  const more = counts.slice(mostLines).reduce((sum, { count }) => sum + count, 0);
  return [
    `${test ? 'TEST ' : ''}${letters === 1 ? 'New dead letter' : `${letters} new dead letters`} for ${ownerName}`,
    ...counts.slice(0, mostLines).map(({ destination, class: failure, count }) => `${count} × ${failure} at ${destination}`),
    ...(more > 0 ? [`${more} × other`] : []),
    ...(untold > 0 ? [`A message about ${untold} more may not have arrived.`] : []),
    `Look by ${respondBy.toISOString().slice(0, 16).replace('T', ' ')} UTC`,
    `${consoleUrl}/queues/all?owner=${encodeURIComponent(owner)}`,
    '#dead_letters',
  ].join('\n');
}

function summed(site: Pick<Site, 'destinations'>, counts: readonly NoticeCount[]): { class: string; destination: string; count: number }[] {
  const sums = new Map<string, { class: string; destination: string; count: number }>();
  for (const one of counts) {
    const names = safeNames(site, one);
    const key = `${names.class} ${names.destination}`;
    sums.set(key, { ...names, count: (sums.get(key)?.count ?? 0) + one.count });
  }
  return [...sums.values()].sort((one, other) => other.count - one.count);
}
