import type { Logger } from '../logging/logger.js';

export interface ListenOptions {
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

/** One LISTEN connection, probed and re-opened for ever. Resolves at once; a database that is down is tried again with back-off. */
export async function listen(options: ListenOptions): Promise<Listener> {
  void options;
  throw new Error('not implemented');
}
