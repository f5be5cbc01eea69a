import { describe, expect, it } from '@jest/globals';
import { eventually } from '#testkit';
import { Committer } from './committer.js';

function fixture(results: ('ok' | Error)[]) {
  const commits: bigint[] = [];
  const state = { settled: 0n, committed: 0n, running: 0, mostAtOnce: 0, failures: 0 };
  const committer = new Committer({
    everyMs: 1,
    due: () =>
      state.settled === state.committed
        ? undefined
        : {
            offsets: [{ topic: 't', partition: 0, offset: state.settled }],
            commit: async ([first]) => {
              state.running += 1;
              state.mostAtOnce = Math.max(state.mostAtOnce, state.running);
              await new Promise((resolve) => setTimeout(resolve, 5));
              state.running -= 1;
              const result = results.shift() ?? 'ok';
              if (result !== 'ok') throw result;
              commits.push(first?.offset ?? -1n);
            },
            done: () => {
              state.committed = commits.at(-1) ?? 0n;
            },
          },
    onFailure: () => {
      state.failures += 1;
      state.settled += 2n;
    },
  });
  return { committer, commits, state };
}

describe('Committer', () => {
  it('commits what is due at most once at a time and never an older offset after a newer one', async () => {
    const { committer, commits, state } = fixture([]);
    for (let offset = 1n; offset <= 20n; offset += 1n) {
      state.settled = offset;
      committer.schedule();
      void committer.flush();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await eventually('the last commit', () => state.committed === 20n);
    expect(state.mostAtOnce).toBe(1);
    expect([...commits].sort((a, b) => Number(a - b))).toEqual(commits);
  });

  it('tries again with what is due then, after a failure', async () => {
    const { committer, commits, state } = fixture([new Error('no coordinator')]);
    state.settled = 3n;
    committer.schedule();
    await eventually('a commit', () => commits.length > 0);
    expect(state.failures).toBe(1);
    expect(commits).toEqual([5n]);
  });

  it('has no timer when nothing is due, and none after its end', async () => {
    const { committer, commits, state } = fixture([]);
    await committer.flush();
    committer.end();
    state.settled = 9n;
    committer.schedule();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(commits).toEqual([]);
  });
});
