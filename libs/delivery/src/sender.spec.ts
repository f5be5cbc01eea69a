import { describe, expect, it } from '@jest/globals';
import type { KnownContact } from './contacts/contacts.js';
import type { Outcome } from './outcome.js';
import type { SinceCompared } from './replays/changed-since.js';
import { Sender, type SenderOptions } from './sender.js';
import type { PerformContext } from './target.js';
import type { OperationWork, Work } from './work.js';

const compared = { version: '7' };
const kind = 'contact';

/** What becomes of one call of an operation, with what its target was asked. */
async function sent(own: Partial<OperationWork>, { since, contact }: { since?: SinceCompared; contact?: KnownContact } = {}) {
  const performed: PerformContext<unknown>[] = [];
  const asked: unknown[] = [];
  const target = {
    name: 'crm',
    timeoutMs: 1_000,
    nativeIdempotency: true,
    backoff: { baseMs: 1, capMs: 1 },
    perform: async (_operation: unknown, context: PerformContext<unknown>): Promise<Outcome> => {
      performed.push(context);
      return { kind: 'succeeded', ref: 'C-1' };
    },
    ...(since !== undefined && {
      sinceCompared: async (record: unknown) => {
        asked.push(record);
        return since;
      },
    }),
  };
  const span = { context: { traceparent: '', traceId: '', spanId: '', sampled: false }, end: () => undefined };
  const sender = new Sender<unknown>({
    target,
    destination: {
      mode: 'flowing',
      admit: () => ({ kind: 'go' }),
      isStale: () => false,
      report: () => undefined,
      withdraw: () => undefined,
    },
    reporter: { beginCall: () => span, endCall: () => undefined, threw: (_work: unknown, error: unknown) => expect(error).toBeUndefined() },
    mark: async () => true,
    recordPart: async () => true,
    mustWait: () => false,
  } as unknown as SenderOptions<unknown>);
  const operation = { kind, operationKey: 'e:crm:contact~g2', state: 'in_flight', attempts: 0, attemptsBefore: 0, ref: 'C-1', ...own };
  const ends = performance.now() + 60_000;
  const work = { operations: [operation], contact, plan: { attempts: 4, contact: { kind } }, deadlineAt: ends, leaseUntil: ends };
  const { calls } = await sender.send(work as unknown as Work<unknown>, undefined);
  return { performed, asked, verdict: calls[0]?.verdict };
}

interface Steps {
  native?: boolean;
  repeatable?: boolean;
  own?: Partial<OperationWork>;
  admits?: ('wait' | 'go')[];
  marks?: boolean | Error;
  /** What the quota says after each mark. */
  stale?: boolean[];
  /** What happens while the mark is written. */
  meanwhile?: (work: { lost: boolean; deadlineAt: number }) => unknown;
  blocked?: () => boolean;
  outcome?: Outcome;
}

/** The steps of one delivery of one operation, in their order. */
async function stepsOf(given: Steps) {
  const {
    native = false,
    repeatable = false,
    own,
    admits = ['go'],
    marks = true,
    stale = [],
    meanwhile,
    blocked = () => false,
    outcome,
  } = given;
  const steps: string[] = [];
  const work = {
    operations: [{ kind: 'lead', operationKey: 'e:crm:lead', state: 'in_flight', attempts: 0, attemptsBefore: 0, ...own }],
    plan: { attempts: 4 },
    deadlineAt: performance.now() + 60_000,
    leaseUntil: performance.now() + 60_000,
    lost: false,
  };
  const span = { context: { traceparent: '', traceId: '', spanId: '', sampled: false }, end: () => undefined };
  const sender = new Sender<unknown>({
    target: {
      name: 'crm',
      timeoutMs: 1_000,
      nativeIdempotency: native,
      repeatable: () => repeatable,
      backoff: { baseMs: 1, capMs: 1 },
      perform: async () => {
        steps.push('call');
        return outcome ?? { kind: 'succeeded', ref: 'L-1' };
      },
    },
    destination: {
      mode: 'flowing',
      admit: () => {
        steps.push('admit');
        return admits.length > 1 && admits.shift() === 'wait' ? { kind: 'wait', reason: 'quota', delayMs: 1 } : { kind: 'go' };
      },
      isStale: () => stale.shift() ?? false,
      report: () => steps.push('report'),
      withdraw: () => steps.push('withdraw'),
    },
    reporter: { beginCall: () => span, endCall: () => undefined, threw: () => undefined },
    mark: async () => {
      steps.push('mark');
      meanwhile?.(work);
      if (marks instanceof Error) throw marks;
      return marks;
    },
    recordPart: async () => true,
    mustWait: blocked,
  } as unknown as SenderOptions<unknown>);
  const sent = await sender.send(work as unknown as Work<unknown>, undefined).catch((error: unknown) => error);
  return { steps, ...(sent instanceof Error ? { error: sent } : (sent as Awaited<ReturnType<typeof sender.send>>)) };
}

describe('a call that cannot be repeated', () => {
  it('is marked once the destination admits it, and not while it waits for its quota', async () => {
    const { steps } = await stepsOf({ admits: ['wait', 'wait', 'go'] });
    expect(steps).toEqual(['admit', 'admit', 'admit', 'mark', 'call', 'report']);
  });

  it('is marked as late where its last claim was lost, and not at all elsewhere, where a repeat is safe', async () => {
    expect((await stepsOf({ native: true, own: { failedWith: 'lease_expired' } })).steps).toEqual(['admit', 'mark', 'call', 'report']);
    expect((await stepsOf({ native: true })).steps).toEqual(['admit', 'call', 'report']);
    expect((await stepsOf({ repeatable: true, own: { failedWith: 'lease_expired' } })).steps).toEqual(['admit', 'mark', 'call', 'report']);
    expect((await stepsOf({ repeatable: true })).steps).toEqual(['admit', 'call', 'report']);
  });

  it.each<[string, Steps, object]>([
    ['the mark is refused', { marks: false }, { kind: 'lost' }],
    ['the claim was lost meanwhile', { meanwhile: (work) => Object.assign(work, { lost: true }) }, { kind: 'lost' }],
    [
      'the deadline passed meanwhile',
      { meanwhile: (work) => Object.assign(work, { deadlineAt: 0 }) },
      { kind: 'run_out', limit: 'deadline' },
    ],
  ])('is not made, and its place is given back, where %s', async (_, given, stop) => {
    expect(await stepsOf(given)).toMatchObject({ steps: ['admit', 'mark', 'withdraw'], calls: [], stop });
  });

  it('is not made where the destination was held while the mark was written', async () => {
    const gate = { held: false };
    const sent = await stepsOf({ meanwhile: () => Object.assign(gate, { held: true }), blocked: () => gate.held });
    expect(sent).toMatchObject({ steps: ['admit', 'mark', 'withdraw'], calls: [], stop: { kind: 'blocked' } });
  });

  it('asks for its place again, and is marked again, where the mark took longer than its part of the quota is kept', async () => {
    const { steps, stop } = (await stepsOf({ stale: [true, true] })) as { steps: string[]; stop: unknown };
    const late = ['admit', 'mark', 'withdraw'];
    expect(steps).toEqual([...late, ...late, 'admit', 'mark', 'call', 'report']);
    expect(stop).toEqual({ kind: 'done' });
  });

  it('gives its place back where the mark cannot be written at all', async () => {
    expect(await stepsOf({ marks: new Error('stopped') })).toMatchObject({
      steps: ['admit', 'mark', 'withdraw'],
      error: { message: 'stopped' },
    });
  });
});

describe('a call that something of ours kept back', () => {
  it('says nothing of the destination and spends no attempt', async () => {
    const outcome: Outcome = { kind: 'transient', code: 'superseded', provablyNotExecuted: true, notCalled: true };
    const { steps, calls } = (await stepsOf({ native: true, outcome })) as { steps: string[]; calls: { verdict: unknown }[] };
    expect(steps).toEqual(['admit', 'call', 'withdraw']);
    expect(calls).toMatchObject([{ verdict: { state: 'waiting', code: 'superseded', spends: false, doubtful: false } }]);
  });
});

describe('a call of an operation that was approved for a record as it was compared', () => {
  it('is made, with that, while nobody has written the record', async () => {
    const { performed, asked, verdict } = await sent({ compared }, { since: 'same' });
    expect(verdict).toMatchObject({ state: 'succeeded' });
    expect(performed).toMatchObject([{ compared }]);
    expect(asked).toEqual([{ kind, ref: 'C-1', compared }]);
  });

  it.each<[string, Parameters<typeof sent>]>([
    ['somebody has', [{ compared }, { since: 'changed' }]],
    ['somebody has between two calls', [{ compared, attempts: 1, failedWith: 'http_503' }, { since: 'changed' }]],
    ['the person has another record by now', [{ compared }, { since: 'same', contact: { ref: 'C-2', newer: [] } }]],
  ])('is not made, now or later, where %s', async (_, given) => {
    const { performed, verdict } = await sent(...given);
    expect(performed).toEqual([]);
    expect(verdict).toMatchObject({ state: 'dead', class: 'conflict', code: 'changed_by_person' });
  });

  it.each<[string, SinceCompared | undefined]>([
    ['cannot be read now', 'unread'],
    ['cannot be read here', undefined],
  ])('waits where the record %s', async (_, since) => {
    const { performed, verdict } = await sent({ compared }, { since });
    expect(performed).toEqual([]);
    expect(verdict).toMatchObject({ state: 'waiting', code: 'not_read', doubtful: false, spends: true });
  });

  it('asks nobody where nothing was compared', async () => {
    const { performed, asked } = await sent({}, { since: 'changed' });
    expect({ performed: performed.length, asked }).toEqual({ performed: 1, asked: [] });
  });
});
