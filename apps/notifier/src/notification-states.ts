import type { DeliveryState } from '#contracts';
import type { StatesAnswer } from '#delivery';
import { parseNotificationName } from './telling/notification-key.js';

export interface NotificationState {
  channel: string;
  template: string;
  state: DeliveryState;
  /** ISO 8601, the database's clock. */
  as_of: string;
}

export interface NotificationsAnswer {
  /** In the order of the request; an event nobody was to be told about has an empty list. */
  items: (StatesAnswer['items'][number] & { notifications: NotificationState[] })[];
}

/** The engine's answer with each delivery also read as the notification it is. */
export function withNotifications(answer: StatesAnswer): NotificationsAnswer {
  return {
    items: answer.items.map((item) => ({
      ...item,
      notifications: item.deliveries.flatMap(({ destination, state, as_of }) => {
        const key = parseNotificationName(destination);
        return key === undefined ? [] : [{ channel: key.channel, template: key.template, state, as_of }];
      }),
    })),
  };
}
