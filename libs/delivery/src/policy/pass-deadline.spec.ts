import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isFinal, type OperationState } from '#contracts';
import { type DeadlineRules, type DueOperation, passDeadline } from './pass-deadline.js';
import { mayBecome } from './transitions.js';

const operation = (state: OperationState, sendingAtMs?: number): DueOperation => ({
  operationKey: state,
  kind: 'lead',
  state,
  sendingAtMs,
});

const rules = (incomplete = false): DeadlineRules => ({ incomplete });

describe('a deadline that has passed', () => {
  it('expires what is open and keeps what is done', () => {
    const operations = [operation('succeeded'), operation('waiting'), operation('pending')];
    expect(passDeadline(operations, rules())).toEqual({
      state: 'expired',
      changed: [
        { operation: operations[1], state: 'expired' },
        { operation: operations[2], state: 'expired' },
      ],
    });
  });

  it('expires nothing that may have been executed, whether or not the destination can be asked', () => {
    const operations = [operation('waiting', 1_000), operation('pending')];
    expect(passDeadline(operations, rules())).toEqual({
      state: 'uncertain',
      changed: [{ operation: operations[0], state: 'uncertain' }],
    });
  });

  it('ends also what has lost the rows of operations, however well the others went', () => {
    expect(passDeadline([], rules())).toEqual({ state: 'expired', changed: [] });
    expect(passDeadline([operation('succeeded')], rules(true))).toEqual({ state: 'expired', changed: [] });
    expect(passDeadline([operation('waiting', 1_000)], rules(true))).toMatchObject({ state: 'uncertain' });
    expect(passDeadline([operation('waiting')], rules(true))).toMatchObject({ state: 'expired', changed: [{ state: 'expired' }] });
  });

  it('leaves nothing open, and makes allowed changes only', () => {
    const one = fc.record({
      operationKey: fc.uuid(),
      kind: fc.constantFrom('contact', 'lead'),
      state: fc.constantFrom<OperationState>('succeeded', 'pending', 'waiting', 'held'),
      sendingAtMs: fc.option(fc.nat(), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 4 }), (operations) => {
        const { state, changed } = passDeadline(operations, rules());
        for (const change of changed) expect(mayBecome(change.operation.state, change.state)).toBe(true);
        if (operations.every((open) => isFinal(open.state))) expect(state).toBe('delivered');
        else expect(['expired', 'uncertain']).toContain(state);
        const doubtful = operations.some((open) => !isFinal(open.state) && open.sendingAtMs !== undefined);
        expect(state === 'uncertain').toBe(doubtful);
      }),
    );
  });
});
