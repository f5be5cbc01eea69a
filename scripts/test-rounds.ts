// Which stages of `npm test` one Jest runs together, and what its one report says of each. Pure; test-runner.ts starts the processes.
import { broken, type Counts, countStage, type JestReport, type Stage, stages } from './test-stages.js';

/** Stages that one Jest runs, so that no worker waits for the end of each of them. */
export type Round = readonly Stage[];

/** The chosen stages by rounds, in their order. Those of a round that was not chosen as a whole are run one by one. */
export function rounds(chosen: readonly Stage[]): Round[] {
  const whole = (stage: Stage): boolean =>
    stage.round !== undefined && stages.filter(({ round }) => round === stage.round).every((one) => chosen.includes(one));
  const found: Stage[][] = [];
  for (const stage of chosen) {
    const last = found.at(-1);
    if (last !== undefined && whole(stage) && last[0]?.round === stage.round) last.push(stage);
    else found.push([stage]);
  }
  return found;
}

/** Jest's choice of files. A round of several stages takes all of its projects: among them they leave no file out. */
export function choiceOf(round: Round): string[] {
  const choice = ['--selectProjects', ...new Set(round.map(({ project }) => project))];
  const [alone] = round;
  if (round.length > 1 || alone === undefined) return choice;
  if (alone.only !== undefined) choice.push('--testPathPatterns', alone.only);
  if (alone.ignore !== undefined) choice.push('--testPathIgnorePatterns', '/node_modules/', alone.ignore);
  return choice;
}

const holds = ({ project, only = '', ignore }: Stage, { name }: JestReport['testResults'][number]): boolean =>
  name.endsWith(`.${project}.spec.ts`) && name.includes(only) && (ignore === undefined || !name.includes(ignore));

/** The part of a round's report that is about one of its stages. */
export function reportOf(stage: Stage, round: Round, report: JestReport | undefined): JestReport | undefined {
  if (report === undefined || round.length === 1) return report;
  const testResults = report.testResults.filter((file) => holds(stage, file));
  const count = (...wanted: string[]): number =>
    testResults.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => wanted.includes(status)).length;
  return { numPassedTests: count('passed'), numFailedTests: count('failed'), numPendingTests: count('pending', 'skipped'), testResults };
}

/**
 * Counts of each stage of a round, as countStage has them. An exit code that no test explains, and a file that belongs to none of the stages, are
 * a failure of the last.
 */
export function countRound(round: Round, report: JestReport | undefined, exitCode: number | null): Counts[] {
  if (round.length === 1 || report === undefined) return round.map((stage) => countStage(stage, report, exitCode));
  const counts = round.map((stage) => countStage(stage, reportOf(stage, round, report), 0));
  const last = counts.at(-1) as Counts;
  const [stage] = round.slice(-1) as [Stage];
  const strays = report.testResults.filter((file) => !round.some((one) => holds(one, file)));
  const why = strays.map(({ name }) => `${name} belongs to no stage`);
  if (exitCode !== 0 && counts.every(({ failed }) => failed === 0)) {
    why.push(`every test passed, yet Jest ended with ${exitCode ?? 'a signal'}`);
  }
  const failures = why.flatMap((one) => broken(stage, one).failures);
  return [...counts.slice(0, -1), { ...last, failed: last.failed + failures.length, failures: [...last.failures, ...failures] }];
}
