import { type DeliveryState, type OperationState, parseNotificationName } from '#contracts';
import type { StatesAnswer } from '#delivery';

export interface NotificationState {
  channel: string;
  template: string;
  /** Of the one operation a notification is: `succeeded` when told, `uncertain` when it may have been sent. */
  state: OperationState | DeliveryState;
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
      notifications: item.deliveries.flatMap(({ destination, state, as_of, operations }) => {
        const key = parseNotificationName(destination);
        if (key === undefined) return [];
        return [{ channel: key.channel, template: key.template, state: operations[0]?.state ?? state, as_of }];
      }),
    })),
  };
}
