import type { DeliveryStateItem } from '#delivery';
import { type Coalescer, coalesce, type InternalClient, metrics } from '#runtime';
import type { HeardNotification } from './told.js';

/** What an owner says of one event; the notifier adds its notifications. */
export interface OwnerAnswer {
  event_id: string;
  deliveries: DeliveryStateItem[];
  notifications?: HeardNotification[];
}

/** Items per request, by the internal API's contract. */
const maxItems = 500;

/** Asks the owning services about events, many at a time in one request each. */
export class LiveStates {
  private readonly ask: Map<string, Coalescer<string, OwnerAnswer>>;

  /** `clients` by service name; `withinMs`: an answer that takes longer counts as none. */
  constructor(
    clients: Readonly<Record<string, InternalClient>>,
    private readonly withinMs: number,
  ) {
    this.ask = new Map(Object.entries(clients).map(([service, client]) => [service, askingOwner(client)]));
  }

  /** The service's word on one event; undefined when it does not give one in time. Never throws. */
  async of(service: string, eventId: string): Promise<OwnerAnswer | undefined> {
    const ask = this.ask.get(service);
    const answer = ask && (await withinTime(ask(eventId), this.withinMs));
    metrics.statusQueries.inc({ service, outcome: answer ? 'answered' : 'unreachable' });
    return answer;
  }
}

function askingOwner(client: InternalClient): Coalescer<string, OwnerAnswer> {
  return coalesce<string, OwnerAnswer>({
    maxBatch: maxItems,
    maxWaitMs: 0,
    maxInFlight: 4,
    maxQueued: 4 * maxItems,
    run: async (eventIds) => {
      const items = eventIds.map((event_id) => ({ event_id }));
      const answer = await client.post<{ items: OwnerAnswer[] }>('/internal/v1/deliveries:state', { items });
      const byEventId = new Map(answer.items.map((item) => [item.event_id, item]));
      return eventIds.map((eventId) => byEventId.get(eventId) ?? { event_id: eventId, deliveries: [] });
    },
  });
}

/** The value, or undefined after a failure or too long a time. */
async function withinTime<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([promise.catch(() => undefined), tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
