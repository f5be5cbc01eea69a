import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { projectRoot } from '#testkit';

/**
 * Twenty faults that users of queues, outboxes and CRM clients have met and reported. Each has a test whose name begins with `case N: `, beside the
 * part that could have it; this file holds the list against the tests.
 */
const cases: Record<number, string> = {
  1: 'an acknowledgement is lost, then other rows are sent',
  2: 'a broker has raised the floor of its request versions',
  3: 'poison lies in the middle of a partition',
  4: 'a dead letter cannot be published',
  5: 'the registry is down, which is no poison',
  6: 'a tier partition is paused through a rebalance',
  7: 'a CRM is slower than the session',
  8: 'a low id commits late',
  9: 'a publish fails with two relays, and order must hold',
  10: 'a process dies at any step',
  11: 'one of many rows in a statement is a duplicate, or cannot be stored',
  12: 'text is hostile',
  13: 'the consumer dies and the process lives',
  14: 'the broker is away',
  15: 'headers are repeated, binary or missing',
  16: 'a CRM throttles several writers',
  17: 'one person sends twice at once',
  18: 'a later lead would wipe what an earlier one wrote',
  19: 'a schema takes a step',
  20: 'the pool is too small and its connections die',
};

/** Cases that cannot arise here, each with the reason; three at most. */
const impossible: Record<number, string> = {};

/** Parts of cases that cannot arise here, while the rest of the case has its test; they count with the others. */
const impossibleInPart: Record<number, string> = {
  18: 'an explicit clear: a lead says what a person filled in, and has no way to clear what a destination knows',
};

/** Numbers that stand at the beginning of a test's name, with the files they stand in. */
function testedCases(): Map<number, string[]> {
  const root = projectRoot();
  const files = globSync(['apps/**/*.spec.ts', 'libs/**/*.spec.ts', 'test/**/*.spec.ts'], {
    cwd: root,
    exclude: (name) => name === 'node_modules',
  });
  const found = new Map<number, string[]>();
  for (const file of files) {
    const text = readFileSync(join(root, file), 'utf8');
    // The name stands behind `it(` or, in a table of cases, behind the table's closing bracket.
    for (const [, number] of text.matchAll(/(?:\bit\(|\)\(|^)\s*['"`]case (\d+): /gm)) {
      found.set(Number(number), [...(found.get(Number(number)) ?? []), file]);
    }
  }
  return found;
}

describe('the twenty cases to run first', () => {
  const tested = testedCases();

  it.each(Object.entries(cases))('%s, %s, has a test of that number or a reason', (number) => {
    expect(tested.has(Number(number)) || impossible[Number(number)] !== undefined).toBe(true);
  });

  it('leave no test with a number that is none of theirs', () => {
    expect([...tested.keys()].filter((number) => cases[number] === undefined)).toEqual([]);
  });

  it('are explained away three times at most', () => {
    expect(Object.keys({ ...impossible, ...impossibleInPart }).length).toBeLessThanOrEqual(3);
  });
});
