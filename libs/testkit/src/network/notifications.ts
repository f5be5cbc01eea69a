import pg from 'pg';

interface Handlers {
  notified(payload: string): void;
  reconnected(): void;
}

/** Hears of notifications of a database over one connection of its own, where a service has its relay for that. */
export function notificationsOf(url: string): { listen(channel: string, handlers: Handlers): () => void; close(): Promise<void> } {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  const connected = client.connect();
  const heard: { channel: string; handlers: Handlers }[] = [];
  client.on('notification', ({ channel, payload = '' }) => {
    for (const one of heard) if (one.channel === channel) one.handlers.notified(payload);
  });
  const listen = async (channel: string, handlers: Handlers): Promise<void> => {
    await connected;
    await client.query(`listen ${pg.escapeIdentifier(channel)}`);
    handlers.reconnected();
  };
  return {
    listen: (channel, handlers) => {
      heard.push({ channel, handlers });
      void listen(channel, handlers).catch(() => undefined);
      return () =>
        void heard.splice(
          heard.findIndex((one) => one.handlers === handlers),
          1,
        );
    },
    close: () => client.end(),
  };
}
