import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { OperationState } from '#contracts';
import type { OperationWork } from '../work.js';
import { type Call, conclude, type Rest } from './conclude.js';
import type { Verdict } from './decide.js';
import { mayBecome } from './transitions.js';

const work = (kind: string, state: OperationState = 'in_flight'): OperationWork => ({ kind, operationKey: kind, state, attempts: 0 });
const call = (operation: OperationWork, verdict: Verdict): Call => ({
  operation,
  verdict,
  number: operation.attempts + 1,
  outcome: { kind: 'succeeded' },
  startedAt: 0,
  durationMs: 0,
  traceId: '',
  spanId: '',
});
const succeeded: Verdict = { state: 'succeeded', ref: '1' };
const waiting: Verdict = { state: 'waiting', code: 'http_503', class: undefined, delayMs: 250 };

describe('what one claim of a delivery comes to', () => {
  it('is delivered when every operation succeeded', () => {
    const [contact, lead] = [work('contact'), work('lead')];
    expect(conclude([contact, lead], [call(contact, succeeded), call(lead, succeeded)], 'again')).toMatchObject({
      state: 'delivered',
      operations: [{ state: 'succeeded' }, { state: 'succeeded' }],
    });
  });

  it('is delivered when the last open operation of an earlier partial success succeeded', () => {
    const [contact, lead] = [work('contact', 'succeeded'), work('lead')];
    const conclusion = conclude([contact, lead], [call(lead, succeeded)], 'again');
    expect(conclusion.state).toBe('delivered');
    expect(conclusion.operations).toHaveLength(1);
  });

  it('waits with the code of the call that failed, the rest is pending', () => {
    const [contact, lead] = [work('contact'), work('lead')];
    expect(conclude([contact, lead], [call(contact, waiting)], 'again')).toMatchObject({
      state: 'waiting',
      code: 'http_503',
      delayMs: 250,
      operations: [{ state: 'waiting' }, { state: 'pending', call: undefined }],
    });
  });

  it('is due at once when a call succeeded and the next could not be made', () => {
    const [contact, lead] = [work('contact'), work('lead')];
    expect(conclude([contact, lead], [call(contact, succeeded)], 'again')).toMatchObject({ state: 'pending', delayMs: 0 });
  });

  it('expires with its class when the deadline came first', () => {
    expect(conclude([work('lead')], [], 'expired')).toMatchObject({ state: 'expired', class: 'deadline_exceeded', code: 'deadline' });
  });

  it('is never delivered with an operation that has not succeeded, and changes states as the table allows', () => {
    const verdicts = fc.constantFrom<Verdict>(succeeded, waiting, { state: 'uncertain', code: 'timeout' }, { state: 'erased' });
    const states = fc.constantFrom<OperationState>('in_flight', 'succeeded');
    const rests = fc.constantFrom<Rest>('again', 'erased', 'expired');
    fc.assert(
      fc.property(fc.array(fc.tuple(states, verdicts), { minLength: 1, maxLength: 4 }), fc.nat(4), rests, (all, made, rest) => {
        const operations = all.map(([state], index) => work(String(index), state));
        const open = operations.filter(({ state }) => state === 'in_flight');
        const planned = open.slice(0, made).map((operation) => call(operation, all[operations.indexOf(operation)]?.[1] ?? succeeded));
        const failed = planned.findIndex(({ verdict }) => verdict.state !== 'succeeded');
        const calls = failed === -1 ? planned : planned.slice(0, failed + 1);
        const conclusion = conclude(operations, calls, rest);
        const after = operations.map(
          (operation) => conclusion.operations.find((one) => one.operation === operation)?.state ?? operation.state,
        );
        expect(conclusion.state === 'delivered').toBe(after.every((state) => state === 'succeeded'));
        for (const { operation, state } of conclusion.operations) expect(mayBecome(operation.state, state)).toBe(true);
        if (conclusion.state === 'waiting' || conclusion.state === 'pending') expect(conclusion.delayMs).toBeDefined();
      }),
    );
  });
});
