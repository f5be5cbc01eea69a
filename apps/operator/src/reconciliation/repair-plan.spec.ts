import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { changedSince, discrepancyClasses, type ReplayFacts } from '#delivery';
import { planOf } from './list-repairs.js';
import { repairOf, wordsOf } from './repair-plan.js';
import { type DiscrepancyItem, runbookOf } from './shapes.js';

const found = (changes: Partial<DiscrepancyItem>) => ({ discrepancy_id: 'd', evidence: {}, ...changes }) as DiscrepancyItem;
const facts = {
  generation: 2,
  operations: [
    { operation_key: 'e:crm:contact~g2', kind: 'contact', state: 'succeeded', ref: 'C-1' },
    { operation_key: 'e:crm:lead', kind: 'lead', state: 'succeeded', ref: 'L-1' },
  ],
} as ReplayFacts;

describe('the plan of a repair', () => {
  it('has one step for each operation, under the key that it has now', () => {
    const plan = planOf(
      [
        found({ kind: 'contact', repair: 'update', evidence: { version: '7', changed_at: 'a', changed_by: 'us' } }),
        found({ operation_key: 'e:crm:lead', repair: 'create' }),
      ],
      facts,
    );
    expect(plan).toMatchObject({
      generation: 2,
      steps: [
        { operation_key: 'e:crm:contact~g2', repair: 'update', ref: 'C-1' },
        { operation_key: 'e:crm:lead', repair: 'create', ref: 'L-1' },
      ],
    });
    expect(repairOf(plan)).toEqual({
      generation: 2,
      renew: [{ operationKey: 'e:crm:contact~g2', ref: 'C-1', compared: { version: '7', changed_at: 'a' } }],
      adopt: [],
      forget: [{ operationKey: 'e:crm:lead', ref: 'L-1' }],
    });
  });

  it.each([[['create', 'update'] as const], [['update', 'create'] as const]])(
    'makes what is not there, whatever else is said of it: %j',
    (repairs) => {
      const { steps } = planOf(
        repairs.map((repair) => found({ kind: 'lead', repair })),
        facts,
      );
      expect(steps.map(({ repair }) => repair)).toEqual(['create']);
    },
  );

  it('is another one to an approval with another record, version or step', () => {
    const step = {
      discrepancy_id: 'd',
      operation_key: 'k',
      kind: 'contact',
      repair: 'update' as const,
      ref: 'C-1',
      compared: { version: '7' },
    };
    const changes = [{ ref: 'C-2' }, { compared: { version: '8' } }, { repair: 'create' as const }, { operation_key: 'j' }];
    const words = [step, ...changes.map((change) => ({ ...step, ...change }))].map((one) =>
      wordsOf({ generation: 1, steps: [one] }).join(),
    );
    expect(new Set([...words, wordsOf({ generation: 2, steps: [step] }).join()]).size).toBe(6);
  });
});

describe('a record that is to be changed', () => {
  it.each<[string, Parameters<typeof changedSince>, string]>([
    ['has its version', [{ result: 'found', version: '7' }, { version: '7' }], 'same'],
    ['has another version', [{ result: 'found', version: '8' }, { version: '7' }], 'changed'],
    ['was written by somebody else', [{ result: 'found', version: '7', changed_by: 'other' }, { version: '7' }], 'changed'],
    ['has the time of its last change', [{ result: 'found', changed_at: 'a' }, { changed_at: 'a' }], 'same'],
    ['has another', [{ result: 'found', changed_at: 'b' }, { changed_at: 'a' }], 'changed'],
    ['says nothing of versions or times', [{ result: 'found' }, { version: '7' }], 'unread'],
    ['was compared without them', [{ result: 'found', version: '7' }, undefined], 'unread'],
    ['is not there', [{ result: 'absent' }, { version: '7' }], 'changed'],
    ['was not asked for', [undefined, { version: '7' }], 'unread'],
  ])('that %s', (_, [now, compared], verdict) => {
    expect(changedSince(now, compared)).toBe(verdict);
  });
});

describe('the runbook of a discrepancy', () => {
  it.each(discrepancyClasses)('is there for %s', (kind) => {
    expect(existsSync(runbookOf(kind))).toBe(true);
  });
});
