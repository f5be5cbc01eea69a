import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { type OperationState, operationStates } from '#contracts';
import { mayBecome } from './transitions.js';

const folder = join(import.meta.dirname, '../sql');
const files = readdirSync(folder).filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'));
/** A statement that writes a fixed state, down to the condition on the state that it replaces. */
const update = /UPDATE operation o\s+SET state = '(\w+)'(?:(?!UPDATE )[\s\S])*?\bo\.state (?:IN \(([^)]*)\)|= ('\w+'))/g;
const anyFixed = /UPDATE operation o\s+SET state = '/g;

/** What the statements of fixed states do to an operation. */
const changes = files.flatMap((name) =>
  [...readFileSync(join(folder, name), 'utf8').matchAll(update)].map(([, to, several, one]) => ({
    name,
    to: to as OperationState,
    from: [...(several ?? one ?? '').matchAll(/'(\w+)'/g)].map(([, state]) => state as OperationState),
  })),
);
const become = (to: OperationState) => operationStates.filter((from) => from !== to && mayBecome(from, to)).sort();
const written = (to: OperationState) =>
  [...new Set(changes.filter((change) => change.to === to).flatMap(({ from }) => from))].filter((from) => from !== to).sort();

describe('the table of transitions', () => {
  it('is compared with every statement that writes a fixed state', () => {
    const statements = files.reduce((sum, name) => sum + [...readFileSync(join(folder, name), 'utf8').matchAll(anyFixed)].length, 0);
    expect(changes).toHaveLength(statements);
    expect(changes.map(({ to }) => to).sort()).toEqual(['held', 'in_flight', 'pending', 'pending', 'pending', 'succeeded']);
    for (const { from } of changes) for (const state of from) expect(operationStates).toContain(state);
  });

  it.each<OperationState>(['in_flight', 'pending'])('allows into %s exactly what a statement does', (to) => {
    expect(become(to)).toEqual(written(to));
  });

  it('allows whatever a statement does', () => {
    const forbidden = changes.flatMap(({ name, from, to }) =>
      from.filter((state) => state !== to && !mayBecome(state, to)).map((state) => `${name}: ${state} -> ${to}`),
    );
    expect(forbidden).toEqual([]);
  });
});
