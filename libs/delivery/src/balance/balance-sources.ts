import type { DeliveryState } from '#contracts';
import type { InternalClient } from '#runtime';
import type { StatesAnswer } from '../states-route.js';
import type { DeliveryId, IntakePlace } from './compare.js';
import type { ReceivedAnswer, ReceivedDay } from './received.js';

/** A delivery as intake lists it. */
export interface AcceptedItem extends DeliveryId {
  state: DeliveryState;
  /** Intake itself owns it (it found nowhere to send it), and `state` is the truth; else only the last that intake heard. */
  own: boolean;
  /** Whose lead it is. Absent: the lead is not kept any more. */
  organization?: string | null;
  source?: string | null;
}

/** Answer of intake's POST /internal/v1/deliveries:accepted. */
export interface AcceptedPage {
  items: AcceptedItem[];
  /** Where the next page begins; absent on the last one. */
  next?: string;
  /** End of the window, ISO 8601: the one asked for, else intake's time of the first page. */
  to: string;
}

/** What the balance reads; each throws InternalUnavailable or InternalRefused. */
export interface BalanceSources {
  /** Deliveries accepted in the window before `to`, a page at a time, in a fixed order. */
  accepted(page: { to?: string; after?: string }): Promise<AcceptedPage>;
  /** Where intake has what the owner lacks, in the order asked; at most 500. */
  places(ids: readonly DeliveryId[]): Promise<IntakePlace[]>;
  /** What the owner says of at most 500 events. */
  states(eventIds: readonly string[]): Promise<StatesAnswer>;
  /** Destinations that take nothing at the moment. */
  held(): Promise<ReadonlySet<string>>;
  /** What came in on one day. */
  received(day: { from: string; to: string }): Promise<ReceivedDay[]>;
}

/** The part of an item of `destinations:state` that says whether anything is sent. */
interface DestinationMode {
  destination: string;
  mode: string;
}

/** The services' internal APIs as the balance reads them. */
export function balanceSources({ intake, owner }: { intake: InternalClient; owner: InternalClient }): BalanceSources {
  return {
    accepted: (page) => intake.post('/internal/v1/deliveries:accepted', page),
    places: async (ids) => {
      const items = ids.map(({ event_id, destination }) => ({ event_id, destination }));
      const answer = await intake.post<{ items: { place: IntakePlace }[] }>('/internal/v1/deliveries:unclaimed', { items });
      return answer.items.map(({ place }) => place);
    },
    states: (eventIds) => owner.post('/internal/v1/deliveries:state', { items: eventIds.map((event_id) => ({ event_id })) }),
    held: () => heldDestinations(owner),
    received: async (day) => (await intake.post<ReceivedAnswer>('/internal/v1/received:days', day)).items,
  };
}

/** Destinations that their owner sends nothing to for now; one that is only probed counts too. Throws InternalUnavailable, InternalRefused. */
export async function heldDestinations(owner: InternalClient): Promise<ReadonlySet<string>> {
  const { items } = await owner.post<{ items: DestinationMode[] }>('/internal/v1/destinations:state', {});
  return new Set(items.filter(({ mode }) => mode === 'blocked' || mode === 'probing').map(({ destination }) => destination));
}
