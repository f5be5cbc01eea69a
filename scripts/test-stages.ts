// What `npm test` runs, and how Jest's own report becomes one line. Pure; test-runner.ts starts the processes.

export interface Stage {
  name: string;
  /** Jest project, as named in jest.config.mjs. */
  project: 'unit' | 'int' | 'flow' | 'fault' | 'crm';
  /** Only files whose path matches; all of the project when absent. */
  only?: string;
  ignore?: string;
  /** Built program that must have ended well before the stage: it begins beside the stages before. Ends with 3 where this machine lacks something. */
  prepare?: string;
  /** Stages of one round are run by one Jest, where all of them are wanted: see test-rounds.ts. Each project of a round is whole in it. */
  round?: string;
}

/** How a preparation ended. */
export interface Prepared {
  exitCode: number | null;
  /** The last line that it printed. */
  said: string;
}

/** In this order: cheap ones first. */
export const stages: readonly Stage[] = [
  { name: 'unit', project: 'unit' },
  { name: 'int', project: 'int' },
  { name: 'contract', project: 'flow', only: 'test/contract/', round: 'stacks' },
  { name: 'flow', project: 'flow', ignore: 'test/contract/', round: 'stacks' },
  { name: 'fault', project: 'fault', round: 'stacks' },
  { name: 'real-crm', project: 'crm', prepare: 'test/real-crm/prepare.js', round: 'stacks' },
];

/** The stages to run: those named, else all. Throws on a name that is no stage. */
export function chosenStages(names: readonly string[]): Stage[] {
  const unknown = names.filter((name) => !stages.some((stage) => stage.name === name));
  if (unknown.length > 0) throw new Error(`no such stage: ${unknown.join(', ')}; there are ${stages.map(({ name }) => name).join(', ')}`);
  return stages.filter(({ name }) => names.length === 0 || names.includes(name));
}

/** Ends a preparation where this machine lacks what the stage is tried on. */
const cannotBeHad = 3;

/**
 * What comes of a stage in place of its tests; undefined: it can be run. What this machine lacks is no failure of the code: it is said and
 * passed over, unless the run is the one that decides about a change (`strict`).
 */
export function unprepared(stage: Stage, { exitCode, said }: Prepared, strict: boolean): { counts: Counts; notice: string } | undefined {
  if (exitCode === 0) return undefined;
  if (exitCode === cannotBeHad && !strict) return { counts: none, notice: `${stage.name}: skipped: ${said}` };
  return { counts: broken(stage, `could not be prepared: ${said}`), notice: `${stage.name}: could not be prepared: ${said}` };
}

/** The part of Jest's `--json` report that is read here. */
export interface JestReport {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { fullName: string; status: string; failureMessages: string[] | null; duration?: number | null }[];
  }[];
}

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  /** One text per failure, ready to print. */
  failures: string[];
}

/**
 * Counts of one stage. No report (`undefined`: Jest was killed or broke before writing it), a file that could not be loaded, a non-zero exit without
 * a failed test, and a stage that executed no test each count as one failure: silence is never a pass.
 */
export function countStage(stage: Stage, report: JestReport | undefined, exitCode: number | null): Counts {
  if (report === undefined) return broken(stage, `Jest ended with ${exitCode ?? 'a signal'} and left no report`);
  const failures = report.testResults.flatMap((file) => {
    const failed = file.assertionResults.filter(({ status }) => status === 'failed');
    if (failed.length === 0) return file.status === 'failed' ? [`${stage.name}: ${file.name}\n${file.message}`] : [];
    return failed.map((test) => `${stage.name}: ${test.fullName} (${file.name})\n${(test.failureMessages ?? []).join('\n')}`);
  });
  const counts = { passed: report.numPassedTests, failed: failures.length, skipped: report.numPendingTests, failures };
  if (failures.length > 0) return counts;
  if (counts.passed === 0) return add(counts, broken(stage, 'no test ran'));
  return exitCode === 0 ? counts : add(counts, broken(stage, `every test passed, yet Jest ended with ${exitCode ?? 'a signal'}`));
}

/** The tests of a stage that took longest, ten at most and none below five seconds, longest first: `12 s  name (file)`. */
export function slowest(report: JestReport | undefined, root: string): string[] {
  const tests = (report?.testResults ?? []).flatMap(({ name: file, assertionResults }) =>
    assertionResults.map(({ fullName, duration }) => ({
      seconds: Math.round((duration ?? 0) / 1000),
      fullName,
      file: file.replace(`${root}/`, ''),
    })),
  );
  const slow = tests.filter(({ seconds }) => seconds >= 5).sort((left, right) => right.seconds - left.seconds);
  return slow.slice(0, 10).map(({ seconds, fullName, file }) => `${seconds} s  ${fullName} (${file})`);
}

/** The sum of two counts. */
export function add(left: Counts, right: Counts): Counts {
  return {
    passed: left.passed + right.passed,
    failed: left.failed + right.failed,
    skipped: left.skipped + right.skipped,
    failures: [...left.failures, ...right.failures],
  };
}

/** The closing line: `N passed, N failed`, and `, N skipped` where there are any. */
export function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

export const none: Counts = { passed: 0, failed: 0, skipped: 0, failures: [] };

/** Counts of a stage that failed as a whole. */
export function broken(stage: Stage, why: string): Counts {
  return { passed: 0, failed: 1, skipped: 0, failures: [`${stage.name}: ${why}`] };
}
