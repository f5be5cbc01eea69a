import { eventually as ask } from '#testkit';

/** Repeats a check made of expectations until none fails, and gives its value; after `timeoutMs` throws, with the last failure in its text. */
export async function eventually<T>(check: () => Promise<T> | T, timeoutMs = 20_000): Promise<T> {
  const { value } = await ask('the expectations to hold', async () => ({ value: await check() }), { timeoutMs, everyMs: 100 });
  return value;
}
