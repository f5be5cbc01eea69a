import type { WaitingItem } from '#delivery';
import type { InternalClient } from '#runtime';
import type { OwnerApi } from '../../owners/owner-api.js';
import { blockedAmong } from './blocked-destinations.js';
import type { OpenRequest, WaitingOwner, WaitingPosition } from './waiting-owner.js';

export interface UnclaimedTools {
  intake: Pick<InternalClient, 'post'>;
  /** Whose group reads nothing while its destination is blocked. */
  writer: Pick<OwnerApi, 'destinations' | 'states'>;
}

/** Pages of intake behind one page of ours. What is claimed without that intake has heard of it is what its owner has under way: far less. */
const mostPages = 50;

/**
 * Leads on the topic for destinations that nothing is sent to, as intake has them: nobody has taken them up, so no other service knows them. What
 * intake has not heard of yet, that it was taken up, its owner is asked. Rejects as its services do.
 */
export function unclaimedOwner({ intake, writer }: UnclaimedTools): WaitingOwner {
  return {
    page: async (kind, request) => {
      if (kind !== 'held') return [];
      const blocked = blockedAmong((await writer.destinations()).items);
      const destinations = [...blocked.keys()].filter((name) => request.destination === undefined || name === request.destination);
      if (destinations.length === 0) return [];
      const found = await unclaimedOf({ intake, writer }, { ...request, destinations });
      return found.map((item) => {
        const { reason, hold, open_until } = blocked.get(item.destination) ?? {};
        return { ...item, attempts: 0, reason, hold, open_until };
      });
    },
    // A group is of what a service has; `blocked` says how many these are.
    groups: async () => [],
  };
}

async function unclaimedOf({ intake, writer }: UnclaimedTools, { destinations, after, limit }: OpenRequest & { destinations: string[] }) {
  const items: WaitingItem[] = [];
  let position: WaitingPosition | undefined = after;
  for (let page = 0; page < mostPages && items.length < limit; page += 1) {
    const body = { destinations, after: position, limit };
    const { items: found } = await intake.post<{ items: WaitingItem[] }>('/internal/v1/deliveries:waiting', body);
    const states = found.length === 0 ? [] : await writer.states(found);
    items.push(...found.filter((_, index) => states[index] === undefined));
    const last = found.at(-1);
    if (last === undefined || found.length < limit) break;
    position = { submitted_us: last.submitted_us, event_id: last.event_id, destination: last.destination };
  }
  return items.slice(0, limit);
}
