/** What is told on a channel of the service's database. */
export interface NotificationHandlers {
  notified(payload: string): void;
  /** After each (re)connect, the first included: what was told meanwhile is gone, so look at the table. */
  reconnected(): void;
}

/**
 * Hears of notifications, over the one connection of this process that listens. They are a shortcut: a channel may be silent for as long as the
 * database is away, and polling must stand behind it.
 */
export interface Notifications {
  /** Begins at once or with the next connection; gives what ends it. */
  listen(channel: string, handlers: NotificationHandlers): () => void;
}

/** What is listened on beside the relay's own channel. */
export class Channels implements Notifications {
  private readonly handlers = new Map<string, Set<NotificationHandlers>>();
  /** Who has not been told yet that its channel is listened on. */
  private readonly waiting: { channel: string; handlers: NotificationHandlers }[] = [];

  constructor(private readonly onWaiting: () => void) {}

  listen(channel: string, handlers: NotificationHandlers): () => void {
    const all = this.handlers.get(channel) ?? new Set();
    this.handlers.set(channel, all.add(handlers));
    this.waiting.push({ channel, handlers });
    this.onWaiting();
    return () => void all.delete(handlers);
  }

  notified(channel: string, payload: string): void {
    for (const { notified } of this.handlers.get(channel) ?? []) notified(payload);
  }

  /** There is another connection: everybody waits for it. */
  connected(): void {
    this.waiting.length = 0;
    for (const [channel, all] of this.handlers) for (const handlers of all) this.waiting.push({ channel, handlers });
  }

  /** Begins what waits; `join` listens on one more channel. Rejects like it. */
  async begin(join: (channel: string) => Promise<void>): Promise<void> {
    for (let next = this.waiting[0]; next !== undefined; next = this.waiting[0]) {
      await join(next.channel);
      this.waiting.shift();
      if (this.handlers.get(next.channel)?.has(next.handlers)) next.handlers.reconnected();
    }
  }
}
