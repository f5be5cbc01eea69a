import { describe, expect, it } from '@jest/globals';
import { type ClassFacts, classFaults } from './failure-classes.js';

const whole = {
  owner: 'operations',
  respondWithinMs: 1,
  disposition: 'investigate',
  deleteAfterMs: 2,
  runbook: 'docs/runbooks/lost.md',
  nextAction: 'Look.',
} as const;
const page = '# Lost\n**You see** `lost`. **It means** a loss. **Over when** found.';
const facts = (changes: Partial<ClassFacts> = {}): ClassFacts => ({
  classes: ['lost'],
  policies: { lost: whole },
  rows: { lost: 'loss' },
  rowIds: ['loss'],
  page: (path) => (path === whole.runbook ? page : undefined),
  ...changes,
});
const without = (name: keyof typeof whole) => {
  const { [name]: _, ...rest } = whole;
  return facts({ policies: { lost: rest } });
};

describe('a failure class', () => {
  it('that has everything is fine', () => {
    expect(classFaults(facts())).toEqual([]);
  });

  it.each([
    ['an owner', without('owner'), 'has no owner'],
    ['a disposition', without('disposition'), 'has no disposition'],
    ['a response deadline', without('respondWithinMs'), 'has no response deadline'],
    ['a deletion deadline', without('deleteAfterMs'), 'has no deletion deadline'],
    ['a next step', without('nextAction'), 'does not say what to do next'],
    ['a runbook', without('runbook'), 'has no runbook'],
    ['the file of its runbook', facts({ page: () => undefined }), 'names the runbook docs/runbooks/lost.md, which does not exist'],
    [
      'what its runbook must say',
      facts({ page: () => page.replace('**Over when**', '') }),
      'has a runbook docs/runbooks/lost.md without **Over when**',
    ],
    [
      'its own name in its runbook',
      facts({ page: () => page.replace('`lost`', '') }),
      'has a runbook docs/runbooks/lost.md without `lost`',
    ],
    ['a row in the failure tour', facts({ rows: {} }), 'has no row in the failure tour'],
    ['a row that exists', facts({ rowIds: ['other'] }), 'is shown in the row loss, which the failure tour does not have'],
    ['time to look at it', facts({ policies: { lost: { ...whole, deleteAfterMs: 1 } } }), 'is deleted before anybody has to look'],
  ])('without %s is named', (_, given, problem) => {
    expect(classFaults(given)).toEqual([{ failureClass: 'lost', problem }]);
  });

  it('without a line in the table is named for all of it', () => {
    expect(classFaults(facts({ policies: {} })).length).toBeGreaterThan(5);
  });
});
