import { type LeadAccepted, LeadAcceptedEvent } from '#contracts';
import type { WaitingItem } from '#delivery';
import type { WaitingOwner, WaitingPosition } from '../src/dead-letters/held/waiting-owner.js';
import { codec } from './rig.js';

/** A delivery of a lead to `crm`, as its owner tells of one that is open. */
export function openDelivery(lead: LeadAccepted, changes: Partial<WaitingItem> = {}): WaitingItem {
  const { event_id, lead_ref, submitted_at, deadline_at } = lead;
  return {
    event_id,
    destination: 'crm',
    state: 'held',
    lead_ref,
    test: false,
    attempts: 0,
    submitted_at: submitted_at.toISOString(),
    submitted_us: `${submitted_at.getTime()}000`,
    deadline_at: deadline_at.toISOString(),
    event: codec.encode(LeadAcceptedEvent, lead).toString('base64'),
    ...changes,
  };
}

const order = (one: WaitingPosition, other: WaitingPosition): number =>
  Number(one.submitted_us) - Number(other.submitted_us) ||
  one.event_id.localeCompare(other.event_id) ||
  one.destination.localeCompare(other.destination);

/** An owner whose open deliveries, of either kind, are `items` at the time it is asked. Its only group is of `crm`. */
export function pretendWaiting(items: () => readonly WaitingItem[]): WaitingOwner {
  return {
    page: async (_kind, { destination, after, newest, limit }) => {
      const sign = newest ? -1 : 1;
      return items()
        .filter((item) => destination === undefined || item.destination === destination)
        .filter((item) => after === undefined || sign * order(item, after) > 0)
        .toSorted((one, other) => sign * order(one, other))
        .slice(0, limit);
    },
    groups: async () => [
      {
        destination: 'crm',
        count: items().length,
        first_at: new Date(0).toISOString(),
        last_at: new Date(1).toISOString(),
        deadline_at: new Date(2).toISOString(),
        overdue: 1,
        reason: 'hold',
        sample_event_ids: [],
      },
    ],
  };
}
