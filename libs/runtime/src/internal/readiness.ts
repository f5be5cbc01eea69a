export interface ReadinessResult {
  ok: boolean;
  /** Why not, in words an operator understands; no personal data. */
  detail?: string;
}

/** One named reason why a process may be unable to make progress. */
export interface ReadinessCheck {
  name: string;
  /** It says something that a person has to know and that keeps the process from nothing: red, it leaves the process ready. */
  isNote?: boolean;
  check(): Promise<ReadinessResult> | ReadinessResult;
}

export interface ReadinessReport {
  ready: boolean;
  checks: ({ name: string } & ReadinessResult)[];
}

const checkMs = 2_000;

/** Asks every check at once. One that throws or takes longer than 2 s is red. */
export async function readinessReport(checks: readonly ReadinessCheck[]): Promise<ReadinessReport> {
  const results = await Promise.all(checks.map(async (check) => ({ name: check.name, ...(await ask(check)) })));
  return { ready: results.every(({ ok }, index) => ok || checks[index]?.isNote), checks: results };
}

async function ask(check: ReadinessCheck): Promise<ReadinessResult> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<ReadinessResult>((resolve) => {
    timer = setTimeout(() => resolve({ ok: false, detail: `no answer within ${checkMs} ms` }), checkMs);
  });
  try {
    return await Promise.race([check.check(), late]);
  } catch (error) {
    return { ok: false, detail: `failed with ${error instanceof Error ? error.name : 'an unknown error'}` };
  } finally {
    clearTimeout(timer);
  }
}
