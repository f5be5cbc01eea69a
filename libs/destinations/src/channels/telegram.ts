import type { Channel } from './channel.js';

export interface TelegramOptions {
  name: string;
  /** Base URL of the Bot API, `https://api.telegram.org` by default. */
  apiUrl?: string;
  token: string;
  chatId: string;
  sandbox?: boolean;
  /** Milliseconds to connect within, 2,000 by default; a connect that fails is provably not sent. */
  connectTimeoutMs?: number;
}

export function createTelegramChannel(_options: TelegramOptions): Channel {
  throw new Error('not implemented');
}
