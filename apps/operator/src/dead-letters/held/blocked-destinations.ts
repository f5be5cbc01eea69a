import { z } from 'zod';
import type { DestinationFiguresAnswer, DestinationsAnswer } from '#delivery';
import type { InternalClient, Site } from '#runtime';
import { unclaimedFigure } from '../../destinations/destination-item.js';
import { maySee, organizationsOf } from '../../destinations/may-see.js';
import { unclaimedOf } from '../../destinations/to-item.js';
import type { OwnerApi } from '../../owners/owner-api.js';
import type { LetterFilter, Reader } from '../letter-filter.js';
import { ownerOf } from './held-item.js';

const text = z.string();

export const blockedDestination = z.object({
  service: text,
  destination: text,
  mode: z.enum(['blocked', 'probing']),
  reason: text,
  hold: z.object({ by: text, reason: text, at: text }).optional(),
  open_until: text.optional().describe('No probe before then.'),
  unclaimed: unclaimedFigure,
});
export type BlockedDestination = z.infer<typeof blockedDestination>;

export const aboutBlocked =
  'Only of `held`: every destination that nothing is sent to, with what lies on its topic: its group reads nothing meanwhile, so that leads of that time are in no group. One by one they are listed, as intake has them.';

export interface BlockedTools {
  site: Pick<Site, 'routing' | 'sources'>;
  owners: ReadonlyMap<string, Pick<OwnerApi, 'destinations'>>;
  clients: ReadonlyMap<string, Pick<InternalClient, 'post'>>;
}

/**
 * Destinations that the reader may see and that nothing is sent to, as far as the filter names what is known of a destination. Topics are looked
 * at only where there is one. Rejects with InternalUnavailable while an owner does not answer.
 */
export async function readBlocked(tools: BlockedTools, filter: LetterFilter, reader: Reader): Promise<BlockedDestination[]> {
  const all = await Promise.all([...tools.owners].map(([service, owner]) => blockedOf(tools, service, owner)));
  return all.flat().filter((one) => fits(tools.site, one, filter) && maySee(tools.site, one.destination, reader));
}

type State = DestinationsAnswer['items'][number];
type Blocked = State & { mode: BlockedDestination['mode'] };

/** Those that nothing is sent to, by name. */
export function blockedAmong(items: readonly State[]): Map<string, Blocked> {
  const isBlocked = (item: State): item is Blocked => item.mode === 'blocked' || item.mode === 'probing';
  return new Map(items.filter(isBlocked).map((item) => [item.destination, item]));
}

async function blockedOf({ clients }: BlockedTools, service: string, owner: Pick<OwnerApi, 'destinations'>): Promise<BlockedDestination[]> {
  const { items } = await owner.destinations();
  const blocked = [...blockedAmong(items).values()];
  if (blocked.length === 0) return [];
  const figures = await clients.get(service)?.post<DestinationFiguresAnswer>('/internal/v1/destinations:figures', {});
  return blocked.map(({ destination, mode, reason = 'held', hold, open_until }) => {
    const unclaimed = unclaimedOf(figures?.items.find((one) => one.destination === destination)?.unclaimed);
    return { service, destination, mode, reason, hold, open_until, ...(unclaimed && { unclaimed }) };
  });
}

function fits(site: BlockedTools['site'], { destination, reason }: BlockedDestination, filter: LetterFilter): boolean {
  const { organization } = filter;
  return (
    (filter.destination === undefined || filter.destination === destination) &&
    (filter.class === undefined || filter.class === reason) &&
    (filter.owner === undefined || filter.owner === ownerOf(reason)) &&
    (organization === undefined || organizationsOf(site, destination).includes(organization))
  );
}
