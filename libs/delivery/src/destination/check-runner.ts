export interface CheckResult {
  ok: boolean;
  code?: string;
}

/** A check that says nothing for this long has failed. */
const longestCheckMs = 15_000;

/** Runs a destination's check call one at a time. Whoever asks while one runs gets the next: the one under way may have begun before. */
export class CheckRunner {
  readonly #check: () => Promise<CheckResult>;
  #running: Promise<CheckResult> | undefined;
  #next: Promise<CheckResult> | undefined;

  constructor(check: () => Promise<CheckResult>) {
    this.#check = check;
  }

  /** Never rejects. */
  run(): Promise<CheckResult> {
    if (this.#running === undefined) return this.#begin();
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      return this.#begin();
    });
    return this.#next;
  }

  #begin(): Promise<CheckResult> {
    this.#running = withLimit(this.#check).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }
}

async function withLimit(check: () => Promise<CheckResult>): Promise<CheckResult> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<CheckResult>((resolve) => {
    timer = setTimeout(() => resolve({ ok: false, code: 'check_timeout' }), longestCheckMs);
  });
  try {
    return await Promise.race([check(), limit]);
  } catch {
    return { ok: false, code: 'check_threw' };
  } finally {
    clearTimeout(timer);
  }
}
