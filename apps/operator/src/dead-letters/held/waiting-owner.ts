import type { WaitingAnswer, WaitingGroup, WaitingGroupsAnswer, WaitingItem } from '#delivery';
import type { InternalClient } from '#runtime';
import type { OpenKind } from './held-item.js';

/** The last item of a page, in the order of all owners' items. */
export interface WaitingPosition {
  submitted_us: string;
  event_id: string;
  destination: string;
}

export interface OpenRequest {
  destination?: string;
  after?: WaitingPosition;
  /** The shortest submitted first; default: the longest. */
  newest?: true;
  limit: number;
}

/**
 * A service's open deliveries: those that wait for their destinations, and those of which nobody knows. Every method rejects with
 * InternalUnavailable or InternalRefused.
 */
export interface WaitingOwner {
  page(kind: OpenKind, request: OpenRequest): Promise<WaitingItem[]>;
  groups(kind: OpenKind): Promise<WaitingGroup[]>;
}

const routes = { held: 'waiting', uncertain: 'uncertain' } as const;

/** The owner behind its internal API. */
export function waitingOwner(client: Pick<InternalClient, 'post'>): WaitingOwner {
  return {
    page: async (kind, request) => (await client.post<WaitingAnswer>(`/internal/v1/deliveries:${routes[kind]}`, request)).items,
    groups: async (kind) => (await client.post<WaitingGroupsAnswer>(`/internal/v1/deliveries:${routes[kind]}-groups`, {})).items,
  };
}
