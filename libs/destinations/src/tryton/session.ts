import { type Failure, failureOf, type RpcResult } from './answer.js';

/** A login's result: what every call carries. */
export interface Session {
  authorization: string;
  userId: number;
  /** What the user works with: goes last in every call. */
  context: Readonly<Record<string, unknown>>;
}

export type SessionAnswer = { ok: true; session: Session } | { ok: false; failure: Failure };

/** A refused login is not tried again so soon: each attempt that fails is counted, and locks the user out in the end. */
const refusedForMs = 15_000;

export interface SessionKeeperOptions {
  login(): Promise<SessionAnswer>;
  now?(): number;
}

/** One session for all calls: whoever comes first logs in, the others wait for it. */
export class SessionKeeper {
  readonly #options: Required<SessionKeeperOptions>;
  #session?: Session;
  #login?: Promise<SessionAnswer>;
  #refused?: { untilMs: number; failure: Failure };

  constructor(options: SessionKeeperOptions) {
    this.#options = { now: Date.now, ...options };
  }

  /** The session, for which the caller waits no longer than `timeoutMs`. `stale`: the one that the server did not take. */
  async get({ stale, timeoutMs }: { stale?: Session; timeoutMs: number }): Promise<SessionAnswer> {
    if (stale !== undefined && this.#session === stale) this.#session = undefined;
    if (this.#session !== undefined) return { ok: true, session: this.#session };
    const refused = this.#refused;
    if (refused !== undefined && refused.untilMs > this.#options.now()) return { ok: false, failure: refused.failure };
    this.#login ??= this.#begin();
    return within(this.#login, timeoutMs);
  }

  /** Tries again at once, whatever was refused before. */
  forgetRefusal(): void {
    this.#refused = undefined;
  }

  async #begin(): Promise<SessionAnswer> {
    const answer = await this.#options.login();
    this.#login = undefined;
    if (answer.ok) this.#session = answer.session;
    else if (answer.failure.kind === 'auth' || answer.failure.kind === 'throttled') {
      this.#refused = { untilMs: this.#options.now() + refusedForMs, failure: answer.failure };
    }
    return answer;
  }
}

/** Nothing was asked of the server for this caller yet. */
const tooLate: SessionAnswer = { ok: false, failure: { kind: 'transient', code: 'login_timeout', provablyNotExecuted: true } };

async function within(login: Promise<SessionAnswer>, timeoutMs: number): Promise<SessionAnswer> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<SessionAnswer>((resolve) => {
    timer = setTimeout(() => resolve(tooLate), Math.max(0, timeoutMs));
  });
  return Promise.race([login, limit]).finally(() => clearTimeout(timer));
}

/** A failed login as every call is told of it: no call of theirs was made, whatever became of the login. */
export function loginFailure(result: Exclude<RpcResult, { kind: 'ok' }>): Failure {
  if (result.kind === 'unauthorized') return { kind: 'auth', code: 'login_refused', status: 401 };
  const failure = failureOf(result);
  if (failure.kind === 'uncertain') return { ...failure, kind: 'transient', provablyNotExecuted: true };
  return failure.kind === 'permanent' ? { kind: 'auth', code: failure.code, status: failure.status } : failure;
}
