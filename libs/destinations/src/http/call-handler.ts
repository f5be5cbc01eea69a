import { subscribe } from 'node:diagnostics_channel';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { OnCallTime } from '#delivery';
import { type CallLimits, CallTimer, type TimeoutCode } from './call-timer.js';

type Headers = Record<string, string | string[] | undefined>;

export type HttpResult =
  /** `body` is absent where it was longer than allowed. */
  | { kind: 'answered'; status: number; headers: Headers; body?: string }
  /** Nothing of the request left this process: no name, no connection, no TLS, or no time to get one. */
  | { kind: 'not_sent'; code: string }
  /** It left, wholly or in part, and no whole answer came. */
  | { kind: 'no_answer'; code: string };

/** A connection that was never made. */
export class NotConnected extends Error {
  override readonly name = 'NotConnected';
  constructor(readonly code: string) {
    super('no connection');
  }
}

class Timeout extends Error {
  override readonly name = 'Timeout';
}

class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong';
}

/** The error's code as a short word in lower case. */
export function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  const word = typeof code === 'string' ? code : typeof name === 'string' ? name : 'error';
  return word.replace(/^UND_ERR_/, '').toLowerCase();
}

interface HandlerOptions {
  resolve: (result: HttpResult) => void;
  /** Of the whole call. */
  timeoutMs: number;
  limits: CallLimits;
  maxAnswerBytes: number;
  onTime: OnCallTime;
}

/** What becomes of one call, from its waiting for a connection to the last byte of its answer. */
export class CallHandler implements Dispatcher.DispatchHandler {
  readonly #options: HandlerOptions;
  readonly #timer: CallTimer;
  readonly #startedAt = performance.now();
  #controller?: Dispatcher.DispatchController;
  #socket?: Duplex;
  #writtenAt = 0;
  #status = 0;
  #headers: Headers = {};
  #chunks: Buffer[] = [];
  #bytes = 0;
  #done = false;

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#timer = new CallTimer(options.timeoutMs, (code) => this.#timedOut(code));
  }

  /** The request is about to be written to a connection. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#writtenAt = performance.now();
    if (this.#done) {
      controller.abort(new Timeout());
      return;
    }
    const { writeMs, firstByteMs } = this.#options.limits;
    if (writeMs === undefined && firstByteMs === undefined) return;
    this.#timer.enter('write_timeout', writeMs);
    onNextWrite((socket) => {
      this.#socket = socket;
    });
    // By then the network has taken over what it takes at once, nearly always all of it.
    setImmediate(() => {
      if (this.#wasWritten()) this.#written();
      else this.#socket?.once('drain', () => this.#written());
    });
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    // An interim answer (103) says only that there will be one.
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    this.#timer.enter('read_timeout', this.#options.limits.readMs);
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

  #wasWritten(): boolean {
    return this.#socket === undefined || this.#socket.writableLength === 0;
  }

  #written(): void {
    if (!this.#done && this.#status === 0) this.#timer.enter('first_byte_timeout', this.#options.limits.firstByteMs);
  }

  #timedOut(code: TimeoutCode): void {
    // Nobody looked since: the rest may have left meanwhile.
    if (code === 'write_timeout' && this.#wasWritten()) {
      this.#written();
      return;
    }
    const controller = this.#controller;
    this.#finish({ kind: controller === undefined ? 'not_sent' : 'no_answer', code });
    controller?.abort(new Timeout());
  }

  #finish(result: HttpResult): void {
    if (this.#done) return;
    this.#done = true;
    this.#timer.stop();
    if (result.kind !== 'not_sent') this.#options.onTime('total', performance.now() - this.#startedAt);
    this.#options.resolve(result);
  }
}

/** undici tells of a connection only through its channel, which it calls between the start of a request and its writing, in one go. */
let taker: ((socket: Duplex) => void) | undefined;

function onNextWrite(take: (socket: Duplex) => void): void {
  taker = take;
}

subscribe('undici:client:sendHeaders', (message) => {
  taker?.((message as { socket: Duplex }).socket);
  taker = undefined;
});
