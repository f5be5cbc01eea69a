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
    destination: { mode: 'flowing', admit: () => ({ kind: 'go' }), report: () => undefined },
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
    expect(verdict).toMatchObject({ state: 'waiting', code: 'not_read', doubtful: false });
  });

  it('asks nobody where nothing was compared', async () => {
    const { performed, asked } = await sent({}, { since: 'changed' });
    expect({ performed: performed.length, asked }).toEqual({ performed: 1, asked: [] });
  });
});
