import type { OnCallTime } from '#delivery';
import type { TraceContext, TrytonConfig } from '#runtime';
import type { CallLimits } from '../http/call-timer.js';
import { HttpCaller } from '../http/http-caller.js';
import { type Failure, type RpcResult, readRpc } from './answer.js';
import { loginFailure, type Session, type SessionAnswer, SessionKeeper } from './session.js';

export interface TrytonRpcOptions {
  config: TrytonConfig;
  password: string;
  baseUrl: string;
  connectTimeoutMs: number;
  /** Of the parts of one call. */
  callLimits?: CallLimits;
  lookupTimeoutMs: number;
  /** Writes in flight at most. */
  concurrency: number;
  onTime?: OnCallTime;
}

export interface RpcCall {
  /** `model.party.party.create`. */
  method: string;
  /** Without the context, which is put behind them. */
  params: readonly unknown[];
  /** What this call adds to the context. */
  context?: Readonly<Record<string, unknown>>;
  /** A read has connections of its own: it gets through while every write hangs. */
  reads?: boolean;
  trace?: TraceContext;
  timeoutMs: number;
}

const readConnections = 4;
/** Two hundred records with their texts. */
const maxAnswerBytes = 16 * 1_024 * 1_024;

/** Remote calls to one Tryton database under one session, which is renewed once per call where the server does not take it any more. */
export class TrytonRpc {
  readonly #options: TrytonRpcOptions;
  readonly #sessions: SessionKeeper;
  readonly #writer: HttpCaller;
  readonly #reader: HttpCaller;

  constructor(options: TrytonRpcOptions) {
    this.#options = options;
    this.#sessions = new SessionKeeper({ login: () => this.#login() });
    const { concurrency, onTime } = options;
    this.#writer = new HttpCaller({ ...options, connections: concurrency, onTime });
    this.#reader = new HttpCaller({ ...options, connections: readConnections, maxAnswerBytes, onTime: undefined });
  }

  /** Never throws. A call of which nothing left for want of a session is a failure that was provably not executed, or one of `auth`. */
  async call(call: RpcCall): Promise<RpcResult> {
    const endsAt = performance.now() + call.timeoutMs;
    const first = await this.session({ timeoutMs: call.timeoutMs });
    if (!first.ok) return { kind: 'failed', failure: first.failure };
    const result = await this.#send(call, first.session, endsAt);
    if (result.kind !== 'unauthorized') return result;
    const renewed = await this.session({ stale: first.session, timeoutMs: endsAt - performance.now() });
    if (!renewed.ok) return { kind: 'failed', failure: renewed.failure };
    return this.#send(call, renewed.session, endsAt);
  }

  session(need: { stale?: Session; timeoutMs: number }): Promise<SessionAnswer> {
    return this.#sessions.get(need);
  }

  /** The next call logs in, whatever the server said to the last login. */
  forgetRefusal(): void {
    this.#sessions.forgetRefusal();
  }

  async close(): Promise<void> {
    await Promise.all([this.#writer.close(), this.#reader.close()]);
  }

  async #send(call: RpcCall, session: Session, endsAt: number): Promise<RpcResult> {
    const timeoutMs = endsAt - performance.now();
    if (timeoutMs < 1) return { kind: 'failed', failure: outOfTime };
    const params = [...call.params, { ...session.context, ...call.context }];
    const headers = ['authorization', session.authorization, ...traceHeaders(call.trace)];
    return this.#post(call.reads ? this.#reader : this.#writer, { method: call.method, params, headers, timeoutMs });
  }

  async #login(): Promise<SessionAnswer> {
    const { config, password, lookupTimeoutMs: timeoutMs } = this.#options;
    const params = [config.user, { password }, language];
    const login = await this.#post(this.#reader, { method: 'common.db.login', params, headers: [], timeoutMs });
    if (login.kind !== 'ok') return { ok: false, failure: loginFailure(login) };
    const [userId, token] = Array.isArray(login.value) ? (login.value as unknown[]) : [];
    if (typeof userId !== 'number' || typeof token !== 'string') return { ok: false, failure: { kind: 'auth', code: 'login_unreadable' } };
    const authorization = `Session ${Buffer.from(`${config.user}:${userId}:${token}`).toString('base64')}`;
    const preferences = await this.#post(this.#reader, {
      method: 'model.res.user.get_preferences',
      params: [true, {}],
      headers: ['authorization', authorization],
      timeoutMs,
    });
    if (preferences.kind !== 'ok') return { ok: false, failure: loginFailure(preferences) };
    return { ok: true, session: { authorization, userId, context: contextOf(preferences.value, config.company) } };
  }

  async #post(
    caller: HttpCaller,
    { method, params, headers, timeoutMs }: { method: string; params: readonly unknown[]; headers: string[]; timeoutMs: number },
  ): Promise<RpcResult> {
    const result = await caller.call({
      method: 'POST',
      path: `/${encodeURIComponent(this.#options.config.database)}/`,
      headers: ['content-type', 'application/json', ...headers],
      body: JSON.stringify({ id: 1, method, params }),
      timeoutMs,
    });
    return readRpc(result, Date.now());
  }
}

/** Errors are recognised by their English texts. */
const language = 'en';

const outOfTime: Failure = { kind: 'transient', code: 'timeout', provablyNotExecuted: true };

/** Of all preferences only what changes how records are made and found. */
function contextOf(preferences: unknown, company: number | undefined): Record<string, unknown> {
  const own = typeof preferences === 'object' && preferences !== null ? (preferences as Record<string, unknown>) : {};
  const worksFor = company ?? own.company;
  return { language, ...(typeof worksFor === 'number' && { company: worksFor }) };
}

function traceHeaders(trace: TraceContext | undefined): string[] {
  if (trace === undefined) return [];
  const { traceparent, tracestate } = trace;
  return tracestate === undefined ? ['traceparent', traceparent] : ['traceparent', traceparent, 'tracestate', tracestate];
}
