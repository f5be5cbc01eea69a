import { ConfigError } from '#runtime';

/** One thing that was looked at. */
export interface Finding {
  what: string;
  ok: boolean;
  /** What is so, or what is wrong. */
  detail: string;
  /** What to do about it; only where it is not ok. */
  fix?: string;
}

export const fine = (what: string, detail: string): Finding => ({ what, ok: true, detail });
export const wrong = (what: string, detail: string, fix: string): Finding => ({ what, ok: false, detail, fix });

/** What a check found; where it threw, that is what is wrong. A ConfigError's problems are one finding each. Never rejects. */
export async function looked(what: string, fix: string, check: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ path, problem, fix: how }) => wrong(`${what}: ${path}`, problem, how));
    const {
      name = 'Error',
      code,
      message = '',
      safeMessage,
    } = error as { name?: string; code?: string; message?: string; safeMessage?: boolean };
    // Texts of drivers can hold a URL with its password.
    return [wrong(what, safeMessage === true ? message : [name, code].filter(Boolean).join(' '), fix)];
  }
}
