import { describe, expect, it } from '@jest/globals';
import type { Failure } from './answer.js';
import { type Session, type SessionAnswer, SessionKeeper } from './session.js';

const session = (authorization: string): Session => ({ authorization, userId: 1, context: {} });
const ok = (authorization: string): SessionAnswer => ({ ok: true, session: session(authorization) });
const no = (failure: Failure): SessionAnswer => ({ ok: false, failure });

/** A keeper whose logins are answered one after the other, and how many there were. */
function keeperOf(...answers: SessionAnswer[]) {
  const state = { logins: 0, nowMs: 0 };
  const login = async (): Promise<SessionAnswer> => {
    state.logins += 1;
    return answers.shift() ?? no({ kind: 'uncertain', code: 'none_left' });
  };
  const keeper = new SessionKeeper({ login, now: () => state.nowMs });
  const get = (stale?: Session) => keeper.get({ stale, timeoutMs: 1_000 });
  return { keeper, state, get };
}

describe('the session', () => {
  it('is one for all who ask at once, and stays', async () => {
    const { get, state } = keeperOf(ok('first'));
    expect(await Promise.all([get(), get(), get()])).toEqual([ok('first'), ok('first'), ok('first')]);
    await get();
    expect(state.logins).toBe(1);
  });

  it('is renewed once for all whose session was not taken', async () => {
    const { get, state } = keeperOf(ok('first'), ok('second'));
    const first = await get();
    const stale = first.ok ? first.session : undefined;
    expect(await Promise.all([get(stale), get(stale)])).toEqual([ok('second'), ok('second')]);
    expect(await get(stale)).toEqual(ok('second'));
    expect(state.logins).toBe(2);
  });

  it('is not asked for again at once where the password was wrong, or the logins too many', async () => {
    for (const failure of [
      { kind: 'auth', code: 'login_refused' },
      { kind: 'throttled', code: 'http_429' },
    ] as const) {
      const { get, state, keeper } = keeperOf(no(failure), no(failure), ok('later'));
      expect([await get(), await get()]).toEqual([no(failure), no(failure)]);
      expect(state.logins).toBe(1);
      keeper.forgetRefusal();
      await get();
      expect(state.logins).toBe(2);
      state.nowMs += 60_000;
      expect(await get()).toEqual(ok('later'));
    }
  });

  it('is asked for again at once where the server was away', async () => {
    const { get } = keeperOf(no({ kind: 'transient', code: 'econnrefused', provablyNotExecuted: true }), ok('back'));
    await get();
    expect(await get()).toEqual(ok('back'));
  });

  it('keeps nobody longer than they can wait: nothing was sent for them', async () => {
    const keeper = new SessionKeeper({ login: () => new Promise(() => undefined) });
    expect(await keeper.get({ timeoutMs: 5 })).toEqual(no({ kind: 'transient', code: 'login_timeout', provablyNotExecuted: true }));
  });
});
