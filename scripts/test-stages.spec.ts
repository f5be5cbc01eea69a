import { globSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import {
  add,
  chosenStages,
  closingLine,
  countStage,
  type JestReport,
  none,
  type Stage,
  slowest,
  stages,
  unprepared,
} from './test-stages.js';

const stage: Stage = { name: 'unit', project: 'unit' };
const names = (list: Stage[]) => list.map(({ name }) => name);

function report(over: Partial<JestReport> = {}): JestReport {
  return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, testResults: [], ...over };
}

describe('the stages of a test run', () => {
  it('are all of them unless some are asked for', () => {
    expect(names(chosenStages([]))).toEqual(['unit', 'int', 'contract', 'flow', 'fault', 'real-crm']);
    expect(names(chosenStages(['fault', 'unit']))).toEqual(['unit', 'fault']);
    expect(() => chosenStages(['units'])).toThrow('no such stage: units');
  });

  it('have tests, each: one that runs none fails', () => {
    const root = join(import.meta.dirname, '..');
    const specs = globSync('{apps,libs,scripts,test}/**/*.spec.ts', { cwd: root });
    const kinds = new Set(specs.map((file) => /\.(\w+)\.spec\.ts$/.exec(file)?.[1] ?? 'unit'));
    expect(stages.filter(({ project }) => !kinds.has(project))).toEqual([]);
  });

  it('pass over what this machine cannot have, save where the run decides about a change', () => {
    const lacking = { exitCode: 3, said: 'there is no Python' };
    expect(unprepared(stage, { exitCode: 0, said: '' }, true)).toBeUndefined();
    expect(unprepared(stage, lacking, false)).toEqual({ counts: none, notice: 'unit: skipped: there is no Python' });
    expect(unprepared(stage, lacking, true)?.counts).toMatchObject({
      failed: 1,
      failures: ['unit: could not be prepared: there is no Python'],
    });
    expect(unprepared(stage, { exitCode: 1, said: 'no port' }, false)?.counts.failed).toBe(1);
  });

  it('count a passing report', () => {
    const counts = countStage(stage, report({ numPassedTests: 3, numPendingTests: 1 }), 0);
    expect(closingLine(add(counts, none))).toBe('3 passed, 0 failed, 1 skipped');
  });

  it('count and print each failed test', () => {
    const failed = { fullName: 'a lead is kept', status: 'failed', failureMessages: ['expected 1, received 0'] };
    const file = { name: 'lead.spec.ts', status: 'failed', message: '', assertionResults: [failed] };
    const counts = countStage(stage, report({ numPassedTests: 2, numFailedTests: 1, testResults: [file] }), 1);
    expect(closingLine(counts)).toBe('2 passed, 1 failed');
    expect(counts.failures).toEqual(['unit: a lead is kept (lead.spec.ts)\nexpected 1, received 0']);
  });

  it.each([
    ['a report that was never written', undefined, null, 'left no report'],
    ['no test at all', report(), 0, 'no test ran'],
    ['an exit code that no test explains', report({ numPassedTests: 2 }), 7, 'yet Jest ended with 7'],
    [
      'a file that could not be loaded',
      report({
        numPassedTests: 2,
        testResults: [{ name: 'a.spec.ts', status: 'failed', message: 'cannot find module', assertionResults: [] }],
      }),
      1,
      'cannot find module',
    ],
  ])('count %s as a failure', (_, given, exitCode, why) => {
    const counts = countStage(stage, given, exitCode);
    expect(counts.failed).toBe(1);
    expect(counts.failures.join()).toContain(why);
  });

  it('name the tests that took longest', () => {
    const test = (fullName: string, duration: number) => ({ fullName, duration, status: 'passed', failureMessages: [] });
    const file = {
      name: '/clone/a.spec.ts',
      status: 'passed',
      message: '',
      assertionResults: [test('short', 900), test('long', 7_100), test('longer', 61_000)],
    };
    expect(slowest(report({ testResults: [file] }), '/clone')).toEqual(['61 s  longer (a.spec.ts)', '7 s  long (a.spec.ts)']);
    expect(slowest(undefined, '/clone')).toEqual([]);
  });
});
