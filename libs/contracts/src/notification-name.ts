/** Whether a lead or one of its destinations is what the message is about. */
export type NotificationScope = 'lead';

export interface NotificationKey {
  scope: NotificationScope;
  channel: string;
  /** Keyed hash: the name stands in logs and traces. */
  recipientKey: string;
  template: string;
}

const separator = '/';

/**
 * With the event id this is what makes a notification one: the same recipient is told once per template, whatever repeats itself. It is
 * the delivery's name in the table, so parts are escaped and a later reading gives them back.
 */
export function notificationName({ scope, channel, recipientKey, template }: NotificationKey): string {
  return [scope, channel, recipientKey, template].map(encodeURIComponent).join(separator);
}

/** The parts of a delivery's name; `undefined` for a name that this service did not make: it may be anything that somebody asked for. */
export function parseNotificationName(name: string): NotificationKey | undefined {
  const [scope, channel, recipientKey, template, ...rest] = name.split(separator).map(decoded);
  const complete = channel !== undefined && recipientKey !== undefined && template !== undefined && rest.length === 0;
  return scope === 'lead' && complete ? { scope, channel, recipientKey, template } : undefined;
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
