import type { Outcome } from '#delivery';
import { HttpCaller, type HttpResult } from '../http/http-caller.js';
import type { Channel, ChannelMessage, SendContext } from './channel.js';
import { readTelegramAnswer } from './telegram-answer.js';

export interface TelegramOptions {
  name: string;
  /** Base URL of the Bot API, `https://api.telegram.org` by default. */
  apiUrl?: string;
  token: string;
  chatId: string;
  /** Test leads may be told here. Default false. */
  sandbox?: boolean;
  /** Milliseconds to connect within, 2,000 by default; a connect that fails is provably not sent. */
  connectTimeoutMs?: number;
}

const defaultConnectTimeoutMs = 2_000;
/** More than the notifier ever has under way; a connection is made when it is needed. */
const connections = 32;

/**
 * Telegram's `sendMessage`. It has no idempotency key and nothing can be read back, so only what provably did not reach it (no
 * connection, 429) may be sent again; silence, a broken connection and 5xx are `uncertain`. The token stands in the URL, so no error
 * of the client is ever passed on.
 */
export function createTelegramChannel(options: TelegramOptions): Channel {
  const { name, apiUrl = 'https://api.telegram.org', token, chatId, sandbox = false } = options;
  const connectTimeoutMs = options.connectTimeoutMs ?? defaultConnectTimeoutMs;
  const caller = new HttpCaller({ baseUrl: apiUrl, connectTimeoutMs, connections });

  const send = async ({ text }: ChannelMessage, { timeoutMs, trace }: SendContext): Promise<Outcome> => {
    const headers = ['content-type', 'application/json'];
    if (trace !== undefined) headers.push('traceparent', trace.traceparent);
    if (trace?.tracestate !== undefined) headers.push('tracestate', trace.tracestate);
    const body = JSON.stringify({ chat_id: chatId, text });
    return toOutcome(await caller.call({ method: 'POST', path: `/bot${token}/sendMessage`, headers, body, timeoutMs }));
  };

  return { name, kind: 'telegram', recipient: chatId, sandbox, send, close: () => caller.close() };
}

function toOutcome(result: HttpResult): Outcome {
  if (result.kind === 'not_sent') return { kind: 'transient', code: result.code, provablyNotExecuted: true };
  if (result.kind === 'no_answer') return { kind: 'uncertain', code: result.code };
  const after = result.headers['retry-after'];
  const retryAfter = Array.isArray(after) ? after.at(-1) : after;
  return readTelegramAnswer({ status: result.status, retryAfter, body: result.body ?? '' });
}
