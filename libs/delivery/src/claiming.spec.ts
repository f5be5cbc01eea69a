import { describe, expect, it } from '@jest/globals';
import { Claiming, type ClaimingOptions } from './claiming.js';
import type { LookupResult } from './outcome.js';
import type { Permit, Repair } from './permits/permit.js';
import type { Work } from './work.js';

const plan = { eventId: 'e', destination: 'crm', contact: { kind: 'contact', personKey: 'person' } };
const work = { replayed: true, leasedAt: 0, plan, received: { receipt: { record: {} } } };
const renew = [{ operationKey: 'e:crm:contact~g2', ref: 'C-1', compared: { version: '7' } }];
const forget = [{ operationKey: 'e:crm:lead', ref: 'L-1' }];

type Target = ClaimingOptions<unknown>['target'];
const target: Target = { timeoutMs: 1_000 };
const reading = (since: 'same' | 'changed' | 'unread'): Target => ({ ...target, sinceCompared: async () => since });
const lookingUp = (found: LookupResult, since?: 'same' | 'unread'): Target => ({
  ...(since ? reading(since) : target),
  lookup: async () => found,
});

/** What the statement of a claim is told, `later` where it is not asked. */
async function claimed(repair: Partial<Repair> | undefined, own: Target): Promise<boolean | undefined | 'later'> {
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
    target: own,
  });
  const met = await claiming.claim(work as unknown as Work<unknown>);
  if (met.kind === 'later') return 'later';
  expect(met).toEqual({ kind: 'no_item', code: 'not_open' });
  return told;
}

describe('the claim of an approved item', () => {
  it.each<[string, Parameters<typeof claimed>, boolean | 'later']>([
    ['changes what nobody has written since', [{ renew }, reading('same')], false],
    ['leaves what somebody has written since', [{ renew }, reading('changed')], true],
    ['leaves what can never be read here', [{ renew }, target], true],
    ['waits for what cannot be read now', [{ renew }, reading('unread')], 'later'],
    ['makes anew what is not there', [{ forget }, lookingUp({ kind: 'absent' })], false],
    ['makes nothing anew that is there after all', [{ forget }, lookingUp({ kind: 'found', ref: 'L-2' })], true],
    ['makes nothing anew that is there several times', [{ forget }, lookingUp({ kind: 'several', refs: ['L-1', 'L-2'] })], true],
    ['makes nothing anew that can never be looked up', [{ forget }, target], true],
    ['waits for what cannot be looked up now', [{ forget }, lookingUp({ kind: 'unknown', code: 'timeout' })], 'later'],
    ['leaves all of it where one is not as it was approved', [{ renew, forget }, lookingUp({ kind: 'found', ref: 'L-2' }, 'unread')], true],
    ['asks nobody where a person corrected the lead', [{ renew: [{ operationKey: 'k' }] }, reading('changed')], false],
    ['asks nobody where it is no repair', [undefined, reading('changed')], false],
  ])('%s', async (_, asked, stale) => {
    expect(await claimed(...asked)).toBe(stale);
  });

  it('asks for the record by its kind and the person', async () => {
    const asked: unknown[] = [];
    const lookup: Target['lookup'] = async (...query) => {
      asked.push(query);
      return { kind: 'absent' };
    };
    await claimed({ forget }, { ...target, lookup });
    expect(asked).toEqual([
      [
        { kind: 'lead', operationKey: 'e:crm:lead' },
        { eventId: 'e', personKey: 'person', timeoutMs: 1_000 },
      ],
    ]);
  });
});
