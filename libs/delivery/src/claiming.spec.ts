import { describe, expect, it } from '@jest/globals';
import { Claiming } from './claiming.js';
import type { Permit, Repair } from './permits/permit.js';
import type { Work } from './work.js';

const work = { replayed: true, leasedAt: 0, plan: { eventId: 'e', destination: 'crm' }, received: { receipt: { record: {} } } };
const renew = [{ operationKey: 'k', ref: 'C-1', compared: { version: '7' } }];

/** What the statement of a claim is told, where the target says that about the records. */
async function staleOf(repair: Partial<Repair> | undefined, unchanged?: boolean): Promise<boolean | undefined> {
  let told: boolean | undefined;
  const permit = { eventId: 'e', destination: 'crm', ...(repair && { repair: { generation: 1, renew: [], adopt: [], ...repair } }) };
  const claiming = new Claiming<unknown>({
    statements: {
      claim: (() => undefined) as never,
      replay: (async ({ stale }: { stale?: boolean }) => {
        told = stale;
        return { kind: 'refused' };
      }) as never,
    },
    replays: { admit: async () => ({ kind: 'item', permit: permit as unknown as Permit }) },
    target: unchanged === undefined ? {} : { unchanged: async () => unchanged },
  });
  expect(await claiming.claim(work as unknown as Work<unknown>)).toEqual({ kind: 'no_item', code: 'not_open' });
  return told;
}

describe('the claim of an approved item', () => {
  it.each<[string, Parameters<typeof staleOf>, boolean]>([
    ['changes what nobody has written since', [{ renew }, true], false],
    ['leaves what somebody has written since', [{ renew }, false], true],
    ['leaves what cannot be read here', [{ renew }], true],
    ['asks nobody where it makes a record anew', [{ forget: [{ operationKey: 'k' }] }, false], false],
    ['asks nobody where a person corrected the lead', [{ renew: [{ operationKey: 'k' }] }, false], false],
    ['asks nobody where it is no repair', [undefined, false], false],
  ])('%s', async (_, asked, stale) => {
    expect(await staleOf(...asked)).toBe(stale);
  });
});
