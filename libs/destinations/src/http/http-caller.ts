import { Socket } from 'node:net';
import { buildConnector, Pool } from 'undici';
import type { OnCallTime } from '#delivery';
import { CallHandler, codeOf, type HttpResult, NotConnected } from './call-handler.js';
import type { CallLimits } from './call-timer.js';

export type { HttpResult } from './call-handler.js';

export interface HttpCallerOptions {
  /** Base URL; its path is put before each call's. */
  baseUrl: string;
  /** Of one TCP (and TLS) connect, in milliseconds. */
  connectTimeoutMs: number;
  /** Of the parts of a connected call; absent: each may take what is left of the whole. */
  callLimits?: CallLimits;
  /** Connections at most; each carries one call at a time. */
  connections: number;
  /** What an answer's body may hold; default 64 KiB. The rest is not read. */
  maxAnswerBytes?: number;
  /** Told how long calls took: `total` of every one that left this process, answered or not. */
  onTime?: OnCallTime;
}

export interface HttpCall {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT';
  /** Begins with a slash. */
  path: string;
  /** Name, value, name, value … */
  headers: string[];
  body?: string;
  /** Limit from now to the last byte of the answer, connect and waiting for a connection included. No part of the call goes beyond it. */
  timeoutMs: number;
}

class ConnectTimeout extends Error {
  override readonly name = 'ConnectTimeout';
  readonly code = 'connect_timeout';
}

/**
 * Calls one HTTP server through a pool of its own. Never follows a redirect, never repeats a request, never throws. Client errors are
 * reduced to a code: their texts can hold URLs.
 */
export class HttpCaller {
  readonly #pool: Pool;
  readonly #origin: string;
  readonly #prefix: string;
  readonly #maxAnswerBytes: number;
  readonly #onTime: OnCallTime;
  readonly #limits: CallLimits;

  constructor(options: HttpCallerOptions) {
    const { baseUrl, connectTimeoutMs, callLimits = {}, connections, maxAnswerBytes = 65_536, onTime = () => undefined } = options;
    const { origin, pathname } = new URL(baseUrl);
    this.#origin = origin;
    this.#prefix = pathname.replace(/\/+$/, '');
    this.#maxAnswerBytes = maxAnswerBytes;
    this.#onTime = onTime;
    this.#limits = callLimits;
    const connect = markingConnector(connectTimeoutMs, onTime);
    // The call's own limit covers headers and body; undici's are coarser.
    this.#pool = new Pool(origin, { connections, connect, headersTimeout: 0, bodyTimeout: 0 });
  }

  call({ method, path, headers, body, timeoutMs }: HttpCall): Promise<HttpResult> {
    return new Promise((resolve) => {
      const [maxAnswerBytes, onTime, limits] = [this.#maxAnswerBytes, this.#onTime, this.#limits];
      const handler = new CallHandler({ resolve, timeoutMs, limits, maxAnswerBytes, onTime });
      try {
        this.#pool.dispatch({ origin: this.#origin, path: this.#prefix + path, method, headers, body }, handler);
      } catch (error) {
        handler.failed(error);
      }
    });
  }

  /** Cuts calls that are still under way. */
  close(): Promise<void> {
    return this.#pool.destroy();
  }
}

/**
 * undici's connector with every failure marked as such, whatever its code: DNS, refused, unreachable, TLS, timeout. Its own timer is a second
 * late at times, so that one of ours goes before it.
 */
function markingConnector(timeout: number, onTime: OnCallTime): buildConnector.connector {
  const connect = buildConnector({ timeout });
  return (options, callback) => {
    const startedAt = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const settled: buildConnector.Callback = (...result) => {
      clearTimeout(timer);
      const [error] = result;
      if (error === null) {
        onTime('connect', performance.now() - startedAt);
        callback(...result);
      } else callback(new NotConnected(codeOf(error)), null);
    };
    // Not in its types: undici gives the socket back.
    const socket: unknown = connect(options, settled);
    timer = setTimeout(() => {
      if (socket instanceof Socket) socket.destroy(new ConnectTimeout());
    }, timeout);
  };
}
