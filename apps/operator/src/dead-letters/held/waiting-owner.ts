import type { WaitingAnswer, WaitingGroup, WaitingGroupsAnswer, WaitingItem } from '#delivery';
import type { InternalClient } from '#runtime';

/** The last item of a page, in the order of all owners' items. */
export interface WaitingPosition {
  submitted_us: string;
  event_id: string;
  destination: string;
}

/** A service's deliveries that wait for their destinations. Every method rejects with InternalUnavailable or InternalRefused. */
export interface WaitingOwner {
  page(request: { destination?: string; after?: WaitingPosition; limit: number }): Promise<WaitingItem[]>;
  groups(): Promise<WaitingGroup[]>;
}

/** The owner behind its internal API. */
export function waitingOwner(client: Pick<InternalClient, 'post'>): WaitingOwner {
  return {
    page: async (request) => (await client.post<WaitingAnswer>('/internal/v1/deliveries:waiting', request)).items,
    groups: async () => (await client.post<WaitingGroupsAnswer>('/internal/v1/deliveries:waiting-groups', {})).items,
  };
}
