/** Waits without holding the process open for anything else. */
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Asks again and again until the answer is not undefined and not false, and gives that answer back.
 * Throws after `timeoutMs` with `what` and the last error, so that a test that waits in vain says for what.
 */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T> | T,
  { timeoutMs = 30_000, everyMs = 50 }: { timeoutMs?: number; everyMs?: number } = {},
): Promise<Exclude<T, undefined | false>> {
  const giveUpAt = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer as Exclude<T, undefined | false>;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() > giveUpAt) {
      throw new Error(`waited ${timeoutMs} ms in vain for: ${what}${last instanceof Error ? ` (last: ${last.message})` : ''}`, {
        cause: last,
      });
    }
    await pause(everyMs);
  }
}
