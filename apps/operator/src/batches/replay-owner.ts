import type {
  LookedUp,
  LookupAnswer,
  RecordsReadAnswer,
  RecordsReadRequest,
  ReplayFacts,
  ReplayFactsAnswer,
  ReplayItemState,
  ReplayItemsAnswer,
} from '#delivery';
import type { InternalClient } from '#runtime';

/** Most items in one request, by the contracts of the internal API. */
export const factsPage = 500;
export const lookupPage = 16;

/** A lookup ends before the request that asked for it does. */
const lookupWithinMs = 4_000;

export interface ItemName {
  item_id: string;
  event_id: string;
  destination: string;
}

type DeliveryName = Omit<ItemName, 'item_id'>;

/** What a destination says of one of its records now, without what is in it. */
export type RecordState = RecordsReadAnswer['items'][number];

/** What a service that owns deliveries says about approved items. Every method rejects with InternalUnavailable or InternalRefused. */
export interface ReplayOwner {
  /** In the order of the names; undefined: not known there. At most {@link factsPage}. */
  facts(names: readonly DeliveryName[]): Promise<(ReplayFacts | undefined)[]>;
  /** What became of each item, in their order. At most {@link factsPage}. */
  items(items: readonly ItemName[]): Promise<ReplayItemState[]>;
  /** The same, and none of them is applied from then on. */
  close(items: readonly ItemName[]): Promise<ReplayItemState[]>;
  /** What each destination holds of them now, in their order. At most {@link lookupPage}. */
  lookUp(names: readonly DeliveryName[]): Promise<LookedUp[]>;
  /** Who has changed records at destinations, and when, in their order. At most {@link lookupPage}. */
  read(records: RecordsReadRequest['items']): Promise<RecordState[]>;
}

const named = ({ item_id, event_id, destination }: ItemName): ItemName => ({ item_id, event_id, destination });
const delivery = ({ event_id, destination }: DeliveryName): DeliveryName => ({ event_id, destination });

/** The owner behind its internal API. */
export function replayOwner(client: Pick<InternalClient, 'post'>): ReplayOwner {
  const of = async (path: string, items: readonly ItemName[]): Promise<ReplayItemState[]> =>
    (await client.post<ReplayItemsAnswer>(`/internal/v1/replay-items:${path}`, { items: items.map(named) })).items;
  return {
    facts: async (names) => {
      const { items } = await client.post<ReplayFactsAnswer>('/internal/v1/replay-items:facts', { items: names.map(delivery) });
      return items.map((item) => item ?? undefined);
    },
    items: (items) => of('state', items),
    close: (items) => of('close', items),
    lookUp: async (names) => {
      const body = { items: names.map(delivery), within_ms: lookupWithinMs };
      return (await client.post<LookupAnswer>('/internal/v1/deliveries:lookup', body)).items;
    },
    read: async (items) => (await client.post<RecordsReadAnswer>('/internal/v1/records:read', { items, within_ms: lookupWithinMs })).items,
  };
}

/** `withdrawn`: consent was. `gone`: nothing of the lead is kept any more. */
export type PayloadState = 'kept' | 'withdrawn' | 'gone';

export interface Vault {
  /** By lead reference; at most 500. Rejects like {@link ReplayOwner}. */
  payloads(leadRefs: readonly string[]): Promise<ReadonlyMap<string, PayloadState>>;
}

/** The vault behind intake's internal API: what is kept, never what it says. */
export function vaultStates(client: Pick<InternalClient, 'post'>): Vault {
  return {
    payloads: async (leadRefs) => {
      if (leadRefs.length === 0) return new Map();
      const body = { items: leadRefs.map((lead_ref) => ({ lead_ref })) };
      const { items } = await client.post<{ items: { lead_ref: string; state: PayloadState }[] }>('/internal/v1/vault:state', body);
      return new Map(items.map(({ lead_ref, state }) => [lead_ref, state]));
    },
  };
}
