import { describe, expect, it } from '@jest/globals';
import { eventually } from '#testkit';
import { UnsupportedBroker } from '../kafka/errors.js';
import { Supervisor } from './supervisor.js';

/** Members that only note whether they live. */
function fixture(startErrors: (Error | undefined)[] = []) {
  const state = { alive: 0, mostAlive: 0, built: 0, downs: [] as { error: unknown; retryInMs: number }[] };
  let crash: (error: Error) => void = () => undefined;
  const supervisor = new Supervisor({
    firstPauseMs: 1,
    maxPauseMs: 4,
    build: (ended) => {
      crash = ended;
      state.built += 1;
      state.alive += 1;
      state.mostAlive = Math.max(state.mostAlive, state.alive);
      let gone = false;
      return {
        start: () => {
          const error = startErrors.shift();
          return error === undefined ? Promise.resolve() : Promise.reject(error);
        },
        stop: async () => {
          await new Promise((resolve) => setTimeout(resolve, 2));
          if (!gone) state.alive -= 1;
          gone = true;
        },
        pause: () => undefined,
        resume: () => undefined,
      };
    },
    onDown: (error, retryInMs) => state.downs.push({ error, retryInMs }),
  });
  return { supervisor, state, crash: (error: Error) => crash(error) };
}

describe('Supervisor', () => {
  it('builds one fresh member after a crash, never two at once', async () => {
    const { supervisor, state, crash } = fixture();
    await supervisor.start();
    const poison = new Error('coordinator lookup failed for good');
    crash(poison);
    crash(new Error('the same end told twice'));
    await eventually('a second member', () => state.built === 2);
    expect(state).toMatchObject({ alive: 1, mostAlive: 1 });
    expect(state.downs.map(({ error }) => error)).toEqual([poison]);
    await supervisor.stop();
    expect(state.alive).toBe(0);
  });

  it('goes on trying with growing pauses when no broker answers, and start does not wait for ever', async () => {
    const { supervisor, state } = fixture([new Error('a'), new Error('b'), new Error('c'), new Error('d')]);
    await supervisor.start();
    await eventually('a fifth member', () => state.built === 5);
    expect(state.downs.map(({ retryInMs }) => retryInMs)).toEqual([1, 2, 4, 4]);
    expect(state.mostAlive).toBe(1);
    await supervisor.stop();
  });

  it('gives up on a broker that this client cannot speak to', async () => {
    const { supervisor, state } = fixture([new UnsupportedBroker(['JoinGroup: the broker speaks versions 6 to 9, this client 0 to 5'])]);
    await expect(supervisor.start()).rejects.toThrow('JoinGroup');
    expect(state).toMatchObject({ built: 1, alive: 0 });
  });

  it('builds none after its stop, not even when a crash was pending', async () => {
    const { supervisor, state, crash } = fixture();
    await supervisor.start();
    const stopped = supervisor.stop();
    crash(new Error('late'));
    await stopped;
    expect(state).toMatchObject({ built: 1, alive: 0 });
  });

  it('replaces a member that its user gave up', async () => {
    const { supervisor, state } = fixture();
    await supervisor.start();
    supervisor.fail('a handler threw something that is no error');
    await eventually('a second member', () => state.built === 2);
    await supervisor.stop();
    expect(state).toMatchObject({ mostAlive: 1, alive: 0 });
  });

  it('lets a start that is still under way end when it is stopped', async () => {
    const { supervisor, state } = fixture();
    const started = supervisor.start();
    await supervisor.stop();
    await started;
    expect(state.alive).toBe(0);
  });
});
