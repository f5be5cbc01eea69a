import { Socket } from 'node:net';
import { buildConnector, type Dispatcher, Pool } from 'undici';
import type { OnCallTime } from '#delivery';

export interface HttpCallerOptions {
  /** Base URL; its path is put before each call's. */
  baseUrl: string;
  /** Of one TCP (and TLS) connect, in milliseconds. */
  connectTimeoutMs: number;
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
  /** Limit from now to the last byte of the answer, connect and waiting for a connection included. */
  timeoutMs: number;
}

type Headers = Record<string, string | string[] | undefined>;

export type HttpResult =
  /** `body` is absent where it was longer than allowed. */
  | { kind: 'answered'; status: number; headers: Headers; body?: string }
  /** Nothing of the request left this process: no name, no connection, no TLS, or no time to get one. */
  | { kind: 'not_sent'; code: string }
  /** It left, wholly or in part, and no whole answer came. */
  | { kind: 'no_answer'; code: string };

/** A connection that was never made. */
class NotConnected extends Error {
  override readonly name = 'NotConnected';
  constructor(readonly code: string) {
    super('no connection');
  }
}

class ConnectTimeout extends Error {
  override readonly name = 'ConnectTimeout';
  readonly code = 'connect_timeout';
}

class Timeout extends Error {
  override readonly name = 'Timeout';
}

class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong';
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

  constructor({ baseUrl, connectTimeoutMs, connections, maxAnswerBytes = 65_536, onTime = () => undefined }: HttpCallerOptions) {
    const { origin, pathname } = new URL(baseUrl);
    this.#origin = origin;
    this.#prefix = pathname.replace(/\/+$/, '');
    this.#maxAnswerBytes = maxAnswerBytes;
    this.#onTime = onTime;
    const connect = markingConnector(connectTimeoutMs, onTime);
    // The call's own limit covers headers and body; undici's are coarser.
    this.#pool = new Pool(origin, { connections, connect, headersTimeout: 0, bodyTimeout: 0 });
  }

  call({ method, path, headers, body, timeoutMs }: HttpCall): Promise<HttpResult> {
    return new Promise((resolve) => {
      const handler = new CallHandler({ resolve, timeoutMs, maxAnswerBytes: this.#maxAnswerBytes, onTime: this.#onTime });
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

/** The error's code as a short word in lower case. */
function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  const word = typeof code === 'string' ? code : typeof name === 'string' ? name : 'error';
  return word.replace(/^UND_ERR_/, '').toLowerCase();
}

interface HandlerOptions {
  resolve: (result: HttpResult) => void;
  timeoutMs: number;
  maxAnswerBytes: number;
  onTime: OnCallTime;
}

class CallHandler implements Dispatcher.DispatchHandler {
  readonly #options: HandlerOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #startedAt = performance.now();
  #controller?: Dispatcher.DispatchController;
  #writtenAt = 0;
  #status = 0;
  #headers: Headers = {};
  #chunks: Buffer[] = [];
  #bytes = 0;
  #done = false;

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#timer = setTimeout(() => this.#timedOut(), options.timeoutMs);
  }

  /** The request is about to be written to a connection. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#writtenAt = performance.now();
    if (this.#done) controller.abort(new Timeout());
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    this.#status = status;
    this.#headers = headers;
    this.#options.onTime('first_byte', performance.now() - this.#writtenAt);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#options.maxAnswerBytes) this.#chunks.push(chunk);
    else controller.abort(new AnswerTooLong());
  }

  onResponseEnd(): void {
    const [first] = this.#chunks;
    const bytes = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    this.#finish({ kind: 'answered', status: this.#status, headers: this.#headers, body: bytes.toString() });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.failed(error);
  }

  failed(error: unknown): void {
    if (error instanceof NotConnected) this.#finish({ kind: 'not_sent', code: error.code });
    else if (error instanceof AnswerTooLong) this.#finish({ kind: 'answered', status: this.#status, headers: this.#headers });
    else if (this.#controller === undefined) this.#finish({ kind: 'not_sent', code: codeOf(error) });
    else this.#finish({ kind: 'no_answer', code: codeOf(error) });
  }

  #timedOut(): void {
    const controller = this.#controller;
    this.#finish({ kind: controller === undefined ? 'not_sent' : 'no_answer', code: 'timeout' });
    controller?.abort(new Timeout());
  }

  #finish(result: HttpResult): void {
    if (this.#done) return;
    this.#done = true;
    clearTimeout(this.#timer);
    if (result.kind !== 'not_sent') this.#options.onTime('total', performance.now() - this.#startedAt);
    this.#options.resolve(result);
  }
}
