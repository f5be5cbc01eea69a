import type {
  CommandAnswer,
  CommandRequest,
  DeliveryStateItem,
  DestinationsAnswer,
  FindAnswer,
  FindRequest,
  HistoryAnswer,
  HistoryItem,
  HistoryRequest,
  StatesAnswer,
  UnresolvedAnswer,
} from '#delivery';
import type { InternalClient } from '#runtime';

export interface DeliveryName {
  event_id: string;
  destination: string;
}

/** A service that owns deliveries, behind its internal API. Every method rejects with InternalUnavailable or InternalRefused. */
export interface OwnerApi {
  /** What is not known there is left out; without a destination, every delivery of the event. `records`: with the bytes of the event's record. */
  histories(names: readonly HistoryRequest['items'][number][], records?: boolean): Promise<HistoryItem[]>;
  /** In the order of the names; undefined for one that is not known there. */
  states(names: readonly DeliveryName[]): Promise<(DeliveryStateItem | undefined)[]>;
  /** What ended without its effect, or stayed uncertain for long. `after`: `next` of the page before. */
  unresolved(after: string | undefined): Promise<UnresolvedAnswer>;
  /** Whether each destination is sent to, and why not. */
  destinations(): Promise<DestinationsAnswer>;
  command(command: CommandRequest): Promise<CommandAnswer>;
  /** Which deliveries an attempt, a trace or a destination's reference belongs to. */
  find(request: FindRequest): Promise<FindAnswer>;
}

/** Most items in one request, by the contract of the internal API. */
export const ownerBatch = 500;

/** The owner behind its internal API. */
export function ownerApi(client: Pick<InternalClient, 'post'>): OwnerApi {
  return {
    histories: async (names, records = false) => {
      const { items } = await client.post<HistoryAnswer>('/internal/v1/deliveries:history', { items: names, records });
      return items;
    },
    states: async (names) => {
      const { items } = await client.post<StatesAnswer>('/internal/v1/deliveries:state', { items: names });
      return names.map(({ destination }, index) => items[index]?.deliveries.find((delivery) => delivery.destination === destination));
    },
    unresolved: (after) => client.post<UnresolvedAnswer>('/internal/v1/deliveries:unresolved', { after, limit: ownerBatch }),
    destinations: () => client.post<DestinationsAnswer>('/internal/v1/destinations:state', {}),
    find: (request) => client.post<FindAnswer>('/internal/v1/deliveries:find', request),
    command: (command) => client.post<CommandAnswer>('/internal/v1/deliveries:command', command),
  };
}

/** @throws for a service that owns no deliveries. */
export function notFound(service: string): never {
  throw new Error(`${service} owns no deliveries`);
}
