import { describe, expect, it } from '@jest/globals';
import { choiceOf, countRound, reportOf, rounds } from './test-rounds.js';
import { chosenStages, type JestReport } from './test-stages.js';

const names = (...chosen: string[]) => rounds(chosenStages(chosen)).map((round) => round.map(({ name }) => name).join(' '));
const whole = rounds(chosenStages([])).at(-1) ?? [];
const test = (status: string) => ({ fullName: 'a lead is kept', status, failureMessages: ['expected 1'] });
const file = (name: string, ...statuses: string[]) => ({
  name: `/clone/${name}`,
  status: statuses.includes('failed') ? 'failed' : 'passed',
  message: '',
  assertionResults: statuses.map(test),
});
const all = [
  file('test/contract/a.flow.spec.ts', 'passed'),
  file('test/flow/b.flow.spec.ts', 'passed', 'passed', 'pending'),
  file('test/fault/c.fault.spec.ts', 'passed'),
  file('test/real-crm/d.crm.spec.ts', 'passed'),
];
const report = (testResults: JestReport['testResults']): JestReport => ({
  numPassedTests: 0,
  numFailedTests: 0,
  numPendingTests: 0,
  testResults,
});

describe('the rounds of a test run', () => {
  it('take the stages with stacks of their own together, where all of them are wanted', () => {
    expect(names()).toEqual(['unit', 'int', 'contract flow fault real-crm']);
    expect(names('flow', 'fault')).toEqual(['flow', 'fault']);
  });

  it('leave no file of their projects out, and of a stage alone those of others', () => {
    expect(choiceOf(whole)).toEqual(['--selectProjects', 'flow', 'fault', 'crm']);
    expect(choiceOf(chosenStages(['contract']))).toEqual(['--selectProjects', 'flow', '--testPathPatterns', 'test/contract/']);
    expect(choiceOf(chosenStages(['flow']))).toEqual([
      ...['--selectProjects', 'flow', '--testPathIgnorePatterns'],
      ...['/node_modules/', 'test/contract/'],
    ]);
  });

  it('count every stage apart', () => {
    expect(countRound(whole, report(all), 0)).toMatchObject([
      { passed: 1, failed: 0 },
      { passed: 2, failed: 0, skipped: 1 },
      { passed: 1, failed: 0 },
      { passed: 1, failed: 0 },
    ]);
    const failing = [...all, file('test/fault/e.fault.spec.ts', 'failed')];
    expect(countRound(whole, report(failing), 1).map(({ failed }) => failed)).toEqual([0, 0, 1, 0]);
    expect(reportOf(chosenStages(['fault'])[0] as never, whole, report(failing))).toMatchObject({ numPassedTests: 1, numFailedTests: 1 });
  });

  it.each<[string, JestReport | undefined, number | null, number[]]>([
    ['a report that was never written', undefined, null, [1, 1, 1, 1]],
    ['a stage without a test', report(all.slice(1)), 0, [1, 0, 0, 0]],
    ['an exit code that no test explains', report(all), 7, [0, 0, 0, 1]],
    ['a file of no stage', report([...all, file('test/f.odd.spec.ts', 'passed')]), 0, [0, 0, 0, 1]],
  ])('count %s as a failure', (_, given, exitCode, failed) => {
    expect(countRound(whole, given, exitCode).map((counts) => counts.failed)).toEqual(failed);
  });
});
