import { describe, expect, it } from '@jest/globals';
import type { Outcome } from '../outcome.js';
import { asksForRetry, bearingOf, isUnreached } from './bearing.js';

describe('what an outcome says about its destination', () => {
  it.each<[string, Outcome, string, boolean]>([
    ['a call without an answer', { kind: 'uncertain', code: 'timeout' }, 'failed', true],
    ['a server error', { kind: 'uncertain', code: 'http_503', status: 503 }, 'failed', true],
    ['a page of a proxy', { kind: 'uncertain', code: 'html_answer', status: 200 }, 'failed', true],
    ['an answer without the id', { kind: 'uncertain', code: 'no_reference', status: 202, answered: true }, 'answered', false],
    ['a record that is locked', { kind: 'transient', code: 'http_423', status: 423, provablyNotExecuted: true }, 'answered', true],
    ['a refused connection', { kind: 'transient', code: 'econnrefused', provablyNotExecuted: true }, 'failed', true],
    ['a call that was not made', { kind: 'transient', code: 'superseded', provablyNotExecuted: true, notCalled: true }, 'none', false],
    ['a refusal of ours', { kind: 'permanent', class: 'conflict', code: 'changed_by_person', notCalled: true }, 'none', false],
    ['a refusal', { kind: 'permanent', class: 'permanent', code: 'http_422', status: 422 }, 'answered', false],
  ])('%s', (_what, outcome, bearing, retried) => {
    expect([bearingOf(outcome), asksForRetry(outcome)]).toEqual([bearing, retried]);
  });

  it('is that nothing was reached only where a call was made', () => {
    const refused = { kind: 'transient', code: 'econnrefused', provablyNotExecuted: true } as const;
    expect([isUnreached(refused), isUnreached({ ...refused, notCalled: true })]).toEqual([true, false]);
  });
});
