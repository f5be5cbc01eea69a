import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mayBe } from './compare-status.js';

describe('mayBe', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const graph = fc.dictionary(name, fc.uniqueArray(name));

  it('agrees with walking every path step by step', () => {
    fc.assert(
      fc.property(graph, name, fc.option(name, { nil: undefined }), (transitions, status, before) => {
        const start = before !== undefined && before in transitions ? before : Object.keys(transitions)[0];
        let reached = new Set(start === undefined ? [] : [start]);
        for (let step = 0; step < 5; step += 1) reached = new Set([...reached, ...[...reached].flatMap((one) => transitions[one] ?? [])]);
        expect(mayBe(status, before, transitions)).toBe(reached.has(status));
      }),
    );
  });

  it('takes any status where none is declared', () => {
    expect(mayBe('anything', undefined, undefined)).toBe(true);
  });
});
