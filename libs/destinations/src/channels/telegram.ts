import { Agent, buildConnector, type Dispatcher } from 'undici';
import type { Outcome } from '#delivery';
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

/** A connection that was never made: nothing of the request can have left. */
class NotConnected extends Error {
  override readonly name = 'NotConnected';
  constructor(readonly code: string) {
    super('no connection to the chat');
  }
}

/**
 * Telegram's `sendMessage`. It has no idempotency key and nothing can be read back, so only what provably did not reach it (no
 * connection, 429) may be sent again; silence, a broken connection and 5xx are `uncertain`. The token stands in the URL, so no error
 * of the client is ever passed on.
 */
export function createTelegramChannel(options: TelegramOptions): Channel {
  const { name, apiUrl = 'https://api.telegram.org', token, chatId, sandbox = false } = options;
  const origin = apiUrl.replace(/\/+$/, '');
  const agent = new Agent({ connect: markingConnector(options.connectTimeoutMs ?? defaultConnectTimeoutMs) });

  const send = async ({ text }: ChannelMessage, { timeoutMs, trace }: SendContext): Promise<Outcome> => {
    const request: Dispatcher.RequestOptions = {
      origin: new URL(origin).origin,
      path: `${new URL(origin).pathname.replace(/\/$/, '')}/bot${token}/sendMessage`,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(trace && { traceparent: trace.traceparent }),
        ...(trace?.tracestate && { tracestate: trace.tracestate }),
      },
      body: JSON.stringify({ chat_id: chatId, text }),
      signal: AbortSignal.timeout(timeoutMs),
    };
    try {
      const { statusCode, headers, body } = await agent.request(request);
      return readTelegramAnswer({ status: statusCode, retryAfter: header(headers['retry-after']), body: await body.text() });
    } catch (error) {
      return failed(error);
    }
  };

  return { name, kind: 'telegram', recipient: chatId, sandbox, send, close: () => agent.destroy() };
}

/** undici's connector with every failure marked, whatever its code: DNS, refused, unreachable, TLS, timeout. */
function markingConnector(timeoutMs: number): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs });
  return (connection, callback) =>
    connect(connection, (...result) => {
      const [error] = result;
      if (error === null) callback(...result);
      else callback(new NotConnected(codeOf(error)), null);
    });
}

function failed(error: unknown): Outcome {
  if (error instanceof NotConnected) return { kind: 'transient', code: error.code, provablyNotExecuted: true };
  if ((error as Error).name === 'TimeoutError') return { kind: 'uncertain', code: 'timeout' };
  return { kind: 'uncertain', code: codeOf(error) };
}

/** The client's error code as a word of ours; the message may hold the URL. */
function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code.toLowerCase() : 'connection_lost';
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
