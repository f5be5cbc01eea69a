import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { OperationState } from '#contracts';
import type { OperationWork } from '../work.js';
import { type Call, type Conclusion, conclude, type Rest } from './conclude.js';
import type { Verdict } from './decide.js';
import { mayBecome } from './transitions.js';

const work = (kind: string, more: Partial<OperationWork> = {}): OperationWork => ({
  kind,
  operationKey: kind,
  state: 'in_flight',
  attempts: 0,
  attemptsBefore: 0,
  ...more,
});
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
const judged = { spends: true, doubtful: false };
const verdicts = {
  succeeded: { ...judged, state: 'succeeded', ref: '1' },
  waiting: { ...judged, state: 'waiting', code: 'http_503', delayMs: 250 },
  uncertain: { spends: true, doubtful: true, state: 'uncertain', code: 'timeout' },
  refused: { ...judged, state: 'uncertain', class: 'permanent', code: 'http_404' },
  dead: { ...judged, state: 'dead', class: 'permanent', code: 'bad_field' },
  expired: { ...judged, state: 'expired', class: 'deadline_exceeded', code: 'http_429' },
  erased: { ...judged, state: 'erased' },
} satisfies Record<string, Verdict>;
type Made = keyof typeof verdicts;

const later: Rest = { kind: 'later', delayMs: 1_000 };
const rests = {
  later,
  busy: { kind: 'later', delayMs: 30, code: 'contact_busy' },
  erased: { kind: 'ended', state: 'erased', code: 'erased' },
  withdrawn: { kind: 'ended', state: 'discarded', code: 'consent_withdrawn' },
  refused: { kind: 'refused', class: 'invalid', code: 'no_consent' },
  deadline: { kind: 'run_out', limit: 'deadline' },
  attempts: { kind: 'run_out', limit: 'attempts' },
} satisfies Record<string, Rest>;

/** An operation as the claim found it: `open`, `done` earlier, or `doubtful`: an earlier call of it may have been executed. */
type Found = 'open' | 'done' | 'doubtful';
const found: Record<Found, Partial<OperationWork>> = {
  open: {},
  done: { state: 'succeeded', ref: '9' },
  doubtful: { attempts: 1, sentAtMs: 1 },
};

/** Written by hand: contact and lead as found, the calls made in their order, the rest, and what must come of it. */
const table: [contact: Found, lead: Found, calls: Made[], rest: keyof typeof rests, delivery: string, operations: string][] = [
  ['open', 'open', ['succeeded', 'succeeded'], 'later', 'delivered', 'contact=succeeded lead=succeeded'],
  ['done', 'open', ['succeeded'], 'later', 'delivered', 'lead=succeeded'],
  ['done', 'done', [], 'later', 'delivered', ''],
  ['open', 'open', ['waiting'], 'later', 'waiting http_503 250', 'contact=waiting lead=pending'],
  ['open', 'open', ['succeeded', 'waiting'], 'later', 'waiting http_503 250', 'contact=succeeded lead=waiting'],
  ['open', 'open', ['succeeded'], 'later', 'waiting 1000', 'contact=succeeded lead=waiting'],
  ['open', 'open', [], 'busy', 'waiting contact_busy 30', 'contact=waiting lead=pending'],
  ['open', 'open', ['uncertain'], 'later', 'uncertain timeout', 'contact=uncertain lead=pending'],
  ['open', 'open', ['succeeded', 'uncertain'], 'later', 'uncertain timeout', 'contact=succeeded lead=uncertain'],
  ['doubtful', 'open', ['refused'], 'later', 'uncertain http_404', 'contact=uncertain lead=pending'],
  ['open', 'open', ['dead'], 'later', 'dead permanent bad_field', 'contact=dead lead=pending'],
  ['done', 'open', ['dead'], 'later', 'dead permanent bad_field', 'lead=dead'],
  ['open', 'open', ['expired'], 'later', 'expired deadline_exceeded http_429', 'contact=expired lead=expired'],
  ['open', 'open', ['erased'], 'later', 'erased', 'contact=erased lead=erased'],
  ['open', 'open', [], 'erased', 'erased erased', 'contact=erased lead=erased'],
  ['done', 'open', [], 'erased', 'erased erased', 'lead=erased'],
  ['open', 'open', [], 'withdrawn', 'discarded consent_withdrawn', 'contact=discarded lead=discarded'],
  ['doubtful', 'open', [], 'erased', 'uncertain erased', 'contact=uncertain lead=pending'],
  ['open', 'open', [], 'refused', 'dead invalid no_consent', 'contact=dead lead=dead'],
  ['done', 'open', [], 'refused', 'dead invalid no_consent', 'lead=dead'],
  ['doubtful', 'open', [], 'refused', 'uncertain no_consent', 'contact=uncertain lead=pending'],
  ['open', 'open', [], 'deadline', 'expired deadline_exceeded deadline', 'contact=expired lead=expired'],
  ['open', 'open', ['succeeded'], 'deadline', 'expired deadline_exceeded deadline', 'contact=succeeded lead=expired'],
  ['doubtful', 'open', [], 'deadline', 'uncertain deadline', 'contact=uncertain lead=pending'],
  ['done', 'doubtful', [], 'deadline', 'uncertain deadline', 'lead=uncertain'],
  ['open', 'open', [], 'attempts', 'dead attempts_exhausted attempts', 'contact=dead lead=pending'],
  ['done', 'open', [], 'attempts', 'dead attempts_exhausted attempts', 'lead=dead'],
  ['doubtful', 'open', [], 'attempts', 'uncertain attempts', 'contact=uncertain lead=pending'],
];

const context = { canLookUp: () => true, incomplete: false };
const blind = { canLookUp: () => false, incomplete: false };
const incomplete = { canLookUp: () => true, incomplete: true };

/** Written by hand: what is left of a delivery whose other operations have no row any more, the rest, and what must come of it. */
const remains: [left: Found[], rest: keyof typeof rests, delivery: string][] = [
  [[], 'later', 'waiting 1000'],
  [[], 'busy', 'waiting contact_busy 30'],
  [[], 'deadline', 'expired deadline_exceeded deadline'],
  [[], 'attempts', 'dead attempts_exhausted attempts'],
  [[], 'erased', 'erased erased'],
  [[], 'withdrawn', 'discarded consent_withdrawn'],
  [[], 'refused', 'dead invalid no_consent'],
  [['done'], 'later', 'waiting 1000'],
  [['done'], 'deadline', 'expired deadline_exceeded deadline'],
  [['open'], 'deadline', 'expired deadline_exceeded deadline'],
  [['doubtful'], 'deadline', 'uncertain deadline'],
];
const wordsOf = ({ state, ...more }: Conclusion): string =>
  [state, more.class, more.code, more.delayMs].filter((part) => part !== undefined).join(' ');

describe('what one claim of a delivery comes to', () => {
  it.each(table)('contact %s, lead %s, calls %j, rest %s: %s; %s', (contact, lead, made, rest, delivery, changed) => {
    const operations = [work('contact', found[contact]), work('lead', found[lead])];
    const open = operations.filter(({ state }) => state === 'in_flight');
    const calls = made.map((name, index) => call(open[index] ?? work('none'), verdicts[name]));
    const conclusion = conclude({ operations, calls, rest: rests[rest], context });
    expect(wordsOf(conclusion)).toBe(delivery);
    expect(conclusion.operations.map(({ operation, state }) => `${operation.kind}=${state}`).join(' ')).toBe(changed);
  });

  it('gives up at a destination that cannot be asked what it would look up elsewhere, but not for want of time', () => {
    const operations = [work('lead', found.doubtful)];
    const ended = (rest: Rest) => conclude({ operations, calls: [], rest, context: blind }).state;
    // Time alone does not prove that nothing was done.
    expect(ended(rests.deadline)).toBe('uncertain');
    expect(ended(rests.attempts)).toBe('dead');
    expect(ended(rests.erased)).toBe('erased');
    expect(ended(rests.refused)).toBe('dead');
  });

  it('keeps that a claim was lost until a call is answered, while the delivery says what it waits for', () => {
    const lost = () => [work('contact', { failedWith: 'lease_expired' }), work('lead', { failedWith: 'lease_expired' })];
    const waits = conclude({ operations: lost(), calls: [], rest: rests.busy, context });
    expect(waits).toMatchObject({ state: 'waiting', code: 'contact_busy' });
    expect(waits.operations.map(({ state, code }) => [state, code])).toEqual([
      ['waiting', 'lease_expired'],
      ['pending', 'lease_expired'],
    ]);
    const operations = lost();
    const called = conclude({ operations, calls: [call(operations[0] as OperationWork, verdicts.waiting)], rest: later, context });
    expect(called.operations.map(({ code }) => code)).toEqual(['http_503', undefined]);
  });

  it('keeps with the operation alone as what it was refused, until it is known whether an earlier call was executed', () => {
    const operations = [work('lead', found.doubtful)];
    const refused = call(operations[0] as OperationWork, verdicts.refused);
    const { class: ofDelivery, operations: changed } = conclude({ operations, calls: [refused], rest: later, context });
    expect(ofDelivery).toBeUndefined();
    expect(changed).toMatchObject([{ state: 'uncertain', class: 'permanent', code: 'http_404' }]);
  });

  it.each(remains)('of which only %j is left, rest %s: %s', (left, rest, delivery) => {
    const operations = left.map((state, index) => work(String(index), found[state]));
    expect(wordsOf(conclude({ operations, calls: [], rest: rests[rest], context: incomplete }))).toBe(delivery);
    // Without any, it does not matter who noticed.
    if (left.length === 0) expect(wordsOf(conclude({ operations, calls: [], rest: rests[rest], context }))).toBe(delivery);
  });

  it('changes states as the table allows, is delivered only when all succeeded, and always has a way on', () => {
    const operation = fc.tuple(fc.constantFrom<Found>('open', 'done', 'doubtful'), fc.constantFrom(...(Object.keys(verdicts) as Made[])));
    const rest = fc.constantFrom<Rest>(...Object.values(rests));
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 4 }), fc.nat(4), rest, fc.boolean(), (all, count, ending, lacking) => {
        const operations = all.map(([state], index) => work(String(index), found[state]));
        const open = operations.filter(({ state }) => state === 'in_flight');
        const planned = open.slice(0, count).map((one) => call(one, verdicts[all[operations.indexOf(one)]?.[1] ?? 'succeeded']));
        const failed = planned.findIndex(({ verdict }) => verdict.state !== 'succeeded');
        const calls = failed === -1 ? planned : planned.slice(0, failed + 1);
        const conclusion = conclude({ operations, calls, rest: ending, context: lacking ? incomplete : context });
        const after = operations.map(
          (one): OperationState => conclusion.operations.find(({ operation: changed }) => changed === one)?.state ?? one.state,
        );
        const done = !lacking && after.length > 0 && after.every((state) => state === 'succeeded');
        expect(conclusion.state === 'delivered').toBe(done);
        for (const { operation: one, state } of conclusion.operations) expect(mayBecome(one.state, state)).toBe(true);
        expect(['pending', 'in_flight', 'held', 'accepted']).not.toContain(conclusion.state);
        expect(conclusion.delayMs !== undefined).toBe(conclusion.state === 'waiting');
        if (conclusion.state === 'dead' || conclusion.state === 'expired') expect(conclusion.class).toBeDefined();
      }),
      { numRuns: 2_000 },
    );
  });
});
