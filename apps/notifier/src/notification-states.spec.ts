import { describe, expect, it } from '@jest/globals';
import type { DeliveryStateItem } from '#delivery';
import { withNotifications } from './notification-states.js';

const as_of = '2026-11-01T10:00:00.000Z';
const delivery = (destination: string, state: DeliveryStateItem['state'], operation?: 'succeeded' | 'uncertain'): DeliveryStateItem => ({
  destination,
  state,
  as_of,
  generation: 1,
  deadline_at: '2026-11-01T14:00:00.000Z',
  complete: true,
  operations: operation === undefined ? [] : [{ kind: 'message', state: operation, operation_key: 'key', attempts: 1 }],
});

describe('withNotifications', () => {
  it('reads each delivery as channel, template and the state of its operation', () => {
    const items = [
      {
        event_id: 'a',
        deliveries: [delivery('lead/sales/0f/lead_dead', 'uncertain', 'uncertain'), delivery('lead/sales/0f/x', 'delivered', 'succeeded')],
      },
      { event_id: 'b', deliveries: [] },
    ];
    expect(withNotifications({ items }).items.map(({ notifications }) => notifications)).toEqual([
      [
        { channel: 'sales', template: 'lead_dead', state: 'uncertain', as_of },
        { channel: 'sales', template: 'x', state: 'succeeded', as_of },
      ],
      [],
    ]);
  });

  it('falls back to the state of the delivery and leaves foreign names out', () => {
    const items = [{ event_id: 'a', deliveries: [delivery('lead/sales/0f/x', 'expired'), delivery('sandbox-crm', 'delivered')] }];
    expect(withNotifications({ items }).items[0]?.notifications).toEqual([{ channel: 'sales', template: 'x', state: 'expired', as_of }]);
  });
});
