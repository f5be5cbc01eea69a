import { eventually as ask } from '#testkit';

/** Repeats a check made of expectations until none fails, and gives its value; after `timeoutMs` throws the last failure. */
export async function eventually<T>(check: () => Promise<T> | T, timeoutMs = 20_000): Promise<T> {
  const answer = await ask('the expectations to hold', async () => ({ value: await check() }), { timeoutMs, everyMs: 100 }).catch((error: Error) => {
    throw error.cause ?? error;
  });
  return answer.value;
}
