import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Logger } from '../logging/logger.js';
import { metrics } from '../metrics/metrics.js';

export interface ListenOptions {
  /** A direct connection: a pooler in transaction mode accepts LISTEN and delivers nothing. */
  url: string;
  channel: string;
  applicationName?: string;
  onNotify(payload: string): void;
  /** Called after each (re)connect, the first included: notifications sent while away are gone, so look at the table. */
  onReconnect(): void;
  logger?: Logger;
  /** Default 15,000. */
  probeEveryMs?: number;
}

export interface Listener {
  readonly connected: boolean;
  stop(): Promise<void>;
}

const connectTimeoutMs = 5_000;
const probeTimeoutMs = 5_000;
const closeTimeoutMs = 1_000;
const firstPauseMs = 250;
const longestPauseMs = 5_000;
const probePrefix = 'ld-probe:';

/**
 * One LISTEN connection, probed and opened again for ever. A half-open connection shows no error, so each probe sends a notification to
 * itself and must get it back; the first one comes from a second connection, since a pooler delivers only what its own client sent.
 * Resolves at once; a database that is down is tried again with back-off. Polling must stand behind it.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const connection = new ListenConnection(options);
  void connection.keepOpen();
  return connection;
}

function newClient(url: string, applicationName = 'ld-listen'): pg.Client {
  return new pg.Client({
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: probeTimeoutMs,
    keepAlive: true,
  });
}

/** A half-open connection never acknowledges the end: its socket is destroyed after a second. */
async function end(client: pg.Client): Promise<void> {
  const { stream } = (client as unknown as { connection: { stream: { destroy(): void } } }).connection;
  const timer = setTimeout(() => stream.destroy(), closeTimeoutMs);
  await client.end().catch(() => {});
  clearTimeout(timer);
}

class ListenConnection implements Listener {
  connected = false;
  private client: pg.Client | undefined;
  private stopped = false;
  private wake: () => void = () => {};
  private onProbe: (payload: string) => void = () => {};

  constructor(private readonly options: ListenOptions) {}

  async keepOpen(): Promise<void> {
    let pauseMs = firstPauseMs;
    for (let opened = 0; !this.stopped; ) {
      try {
        const lost = await this.open();
        if (this.stopped) break;
        if (opened > 0) metrics.listenReconnects.inc();
        opened += 1;
        pauseMs = firstPauseMs;
        this.options.onReconnect();
        await this.watch(lost);
      } catch (error) {
        if (!this.stopped) this.options.logger?.warn({ err: error, retry_in_ms: pauseMs }, 'LISTEN connection lost');
      }
      await this.closeClient();
      if (!this.stopped) await this.pause(pauseMs);
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    }
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.wake();
    await this.closeClient();
  }

  /** Connects and listens; gives a promise that rejects when the connection breaks. */
  private async open(): Promise<{ broken: Promise<never> }> {
    const { url, applicationName, channel, onNotify } = this.options;
    const client = newClient(url, applicationName);
    this.client = client;
    const broken = new Promise<never>((_, reject) => {
      client.on('error', reject);
      client.on('end', () => reject(new Error('The connection ended')));
    });
    broken.catch(() => {});
    client.on('notification', ({ payload = '' }) => {
      if (payload.startsWith(probePrefix)) this.onProbe(payload);
      else onNotify(payload);
    });
    await client.connect();
    await client.query(`listen ${pg.escapeIdentifier(channel)}`);
    this.connected = true;
    return { broken };
  }

  /** Probes until the connection breaks or a probe is not answered. */
  private async watch({ broken }: { broken: Promise<never> }): Promise<void> {
    const probeEveryMs = this.options.probeEveryMs ?? 15_000;
    await Promise.race([this.probeFromOutside(), broken]);
    while (!this.stopped) {
      await Promise.race([this.pause(probeEveryMs), broken]);
      if (!this.stopped && this.client !== undefined) await Promise.race([this.probe(this.client), broken]);
    }
  }

  private async probeFromOutside(): Promise<void> {
    const outside = newClient(this.options.url, this.options.applicationName);
    outside.on('error', () => {});
    try {
      await outside.connect();
      await this.probe(outside);
    } catch (error) {
      if (!this.stopped)
        this.options.logger?.warn({ err: error }, 'Notifications do not arrive, polling alone works: use a direct connection');
    } finally {
      void end(outside);
    }
  }

  private async probe(sender: pg.Client): Promise<void> {
    const payload = `${probePrefix}${randomUUID()}`;
    let timer: NodeJS.Timeout | undefined;
    const arrived = new Promise<void>((resolve, reject) => {
      this.onProbe = (received) => {
        if (received === payload) resolve();
      };
      timer = setTimeout(() => reject(new Error('A probe was not delivered')), probeTimeoutMs);
      timer.unref();
    });
    arrived.catch(() => {});
    try {
      await sender.query('select pg_notify($1, $2)', [this.options.channel, payload]);
      await arrived;
    } finally {
      clearTimeout(timer);
    }
  }

  private async closeClient(): Promise<void> {
    this.connected = false;
    const { client } = this;
    this.client = undefined;
    if (client !== undefined) await end(client);
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
