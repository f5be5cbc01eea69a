import { describe, expect, it } from '@jest/globals';
import type { Tx } from '#runtime';
import { lateFound } from './late-found.js';
import type { StoredDelivery, StoredOperation } from './stored-delivery.js';
import type { OlderRecord } from './swept-target.js';

const nowMs = Date.UTC(2026, 0, 5, 12);

/** What becomes of a delivery of one contact that is not in flight, and whose record is found late. */
function late(own: Partial<StoredOperation>, older?: OlderRecord) {
  const operation: StoredOperation = {
    kind: 'contact',
    operationKey: 'e:crm:contact',
    state: 'waiting',
    attempts: 1,
    attemptsBefore: 0,
    absences: 0,
    ...own,
  };
  const stored = {
    eventId: 'e',
    destination: 'crm',
    state: operation.state === 'succeeded' ? 'delivered' : operation.state,
    recordKey: Buffer.from('person'),
    deadlineAt: new Date(nowMs + 3_600_000),
    resolvedAt: new Date(nowMs),
    operations: [operation],
  } as unknown as StoredDelivery;
  const target = { nativeIdempotency: false, older: () => older };
  return lateFound({} as Tx, { stored, operationKey: operation.operationKey, ref: 'C-1', attemptsAllowed: 4, target });
}

describe('a record that is found late', () => {
  it.each<[StoredOperation['state'], Partial<StoredOperation>]>([
    ['discarded', {}],
    ['erased', {}],
    ['dead', { class: 'attempts_exhausted' }],
    ['expired', { class: 'deadline_exceeded' }],
  ])('and may be older than the call brings nothing back that is %s', async (state, more) => {
    for (const older of ['change', 'keep'] as const) expect(await late({ state, ...more }, older)).toBeUndefined();
  });

  it('and may be older is changed where the call is still to be made', async () => {
    expect(await late({ state: 'waiting' }, 'change')).toMatchObject({
      state: 'waiting',
      code: 'contact_found',
      olderContact: { ref: 'C-1' },
    });
  });

  it.each(['change', 'keep'] as const)(
    'and may be older is no proof of a call that was refused for good after one in doubt: %s',
    async (older) => {
      const refused = { class: 'permanent', code: 'http_422' } as const;
      const change = await late({ state: 'uncertain', attempts: 2, ...refused }, older);
      expect(change).toMatchObject({
        state: 'dead',
        ...refused,
        operations: [{ state: 'dead', ...refused }],
        deadLetter: { ...refused, operationKey: 'e:crm:contact' },
        olderContact: { ref: 'C-1' },
      });
      expect(change?.operations[0]?.ref).toBeUndefined();
    },
  );

  it('and was made by the call counts, however its operation has ended', async () => {
    expect(await late({ state: 'discarded' })).toMatchObject({ state: 'delivered', operations: [{ state: 'succeeded', ref: 'C-1' }] });
  });
});
