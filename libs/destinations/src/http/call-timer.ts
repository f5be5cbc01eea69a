/** How long the parts of a connected call may take, in milliseconds; absent: what is left of the whole. */
export interface CallLimits {
  /** Until the network has taken over all of the request. */
  writeMs?: number;
  /** From there to the first byte of the answer. */
  firstByteMs?: number;
  /** From there to its last. */
  readMs?: number;
}

/** `timeout`: of the whole call. */
export type TimeoutCode = 'timeout' | 'write_timeout' | 'first_byte_timeout' | 'read_timeout';

/** Node's timers may be this much early, in milliseconds. */
const earlyMs = 1;

/** The limits of one call: of the whole, and of the part that it is in. One timer, which is set anew only where it would come too late. */
export class CallTimer {
  readonly #endsAt: number;
  readonly #onTimeout: (code: TimeoutCode) => void;
  #part: { code: TimeoutCode; endsAt: number } = { code: 'timeout', endsAt: Number.POSITIVE_INFINITY };
  #timer?: NodeJS.Timeout;
  #setFor = Number.POSITIVE_INFINITY;
  #stopped = false;

  /** Begins with the whole call. `onTimeout` of a part may be followed by further ones. */
  constructor(timeoutMs: number, onTimeout: (code: TimeoutCode) => void) {
    this.#endsAt = performance.now() + timeoutMs;
    this.#onTimeout = onTimeout;
    this.#set();
  }

  /** The call is in another part from now on. */
  enter(code: TimeoutCode, limitMs = Number.POSITIVE_INFINITY): void {
    this.#part = { code, endsAt: performance.now() + limitMs };
    this.#set();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  get #dueAt(): number {
    return Math.min(this.#part.endsAt, this.#endsAt);
  }

  #set(): void {
    if (this.#stopped || this.#setFor <= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#setFor = this.#dueAt;
    this.#timer = setTimeout(() => this.#fire(), Math.max(0, this.#dueAt - performance.now()));
  }

  #fire(): void {
    this.#setFor = Number.POSITIVE_INFINITY;
    if (this.#dueAt - performance.now() > earlyMs) this.#set();
    else this.#onTimeout(this.#part.endsAt < this.#endsAt ? this.#part.code : 'timeout');
  }
}
