import { describe, expect, it } from '@jest/globals';
import type { Connector, ReadAnswer } from '#destinations';
import type { DestinationConfig } from '#runtime';
import { DestinationReader } from './destination-reader.js';

const config = { lookupTimeoutMs: 1_000, reconcile: { rate: 10_000 } } as unknown as DestinationConfig;
const records = (keys: readonly string[] = []): ReadAnswer => ({
  ok: true,
  records: keys.map((key) => ({ kind: 'lead', ref: `R-${key}`, key, fields: {} })),
});

function readerOf(connector: object, more: { whenFree?: () => Promise<void>; config?: object; tries?: number } = {}) {
  const { signal } = new AbortController();
  const whenFree = more.whenFree ?? (() => Promise.resolve());
  return new DestinationReader({
    connector: { capabilities: { lookup: ['lead'], readMany: 2 }, ...connector } as unknown as Connector,
    config: { ...config, ...more.config },
    signal,
    whenFree,
    tries: more.tries,
  });
}
const keys = ['a', 'b', 'c'].map((key) => ({ key, eventId: key }));

describe('DestinationReader', () => {
  it('asks for as many at once as the destination takes, each time when it is free', async () => {
    const asked: unknown[] = [];
    let free = 0;
    const readMany = async ({ keys: some }: { keys: string[] }) => {
      asked.push(some);
      return records(some);
    };
    const reader = readerOf(
      { readMany },
      {
        whenFree: async () => {
          free += 1;
        },
      },
    );
    const read = await reader.byKeys('lead', keys);
    expect([...(read?.byKey.keys() ?? [])]).toEqual(['a', 'b', 'c']);
    expect(asked).toEqual([['a', 'b'], ['c']]);
    expect([free, reader.calls]).toEqual([2, 2]);
  });

  it('looks up one by one, for presence alone, where it cannot read in bulk', async () => {
    const lookup = async ({ eventId }: { eventId: string }) =>
      eventId === 'b' ? { kind: 'absent' } : { kind: 'found', ref: `R-${eventId}` };
    const read = await readerOf({ lookup, readMany: async () => ({ ok: false, class: 'unsupported' }) }).byKeys('lead', keys);
    expect(read).toMatchObject({ presenceOnly: true });
    expect([...(read?.byKey.keys() ?? [])]).toEqual(['a', 'c']);
    expect(await readerOf({ capabilities: { lookup: [] } }).byKeys('lead', keys)).toBeUndefined();
  });

  it('looks up nothing one by one where it is asked for what is read in bulk alone, and remembers what is not', async () => {
    let asked = 0;
    const readMany = async () => {
      asked += 1;
      return { ok: false, class: 'unsupported' };
    };
    const lookup = () => Promise.reject(new Error('looked up'));
    const reader = readerOf({ readMany, lookup });
    expect(reader.mayReadInBulk('lead')).toBe(true);
    expect(await reader.byKeysInBulk('lead', keys)).toBeUndefined();
    expect(reader.mayReadInBulk('lead')).toBe(false);
    expect(await reader.byKeysInBulk('lead', keys)).toBeUndefined();
    expect(asked).toBe(1);
    expect(reader.mayReadInBulk('contact')).toBe(true);
  });

  it('gives records that can be written down, whatever the destination says', async () => {
    const strange = { ref: 'R\0-\ud800', key: 'a', version: 'v'.repeat(9_000), status: '\0', links: { owner: 'o\0', contact: undefined } };
    const fields = { message: 'any\0' };
    const reader = readerOf({ readMany: async () => ({ ok: true, records: [{ kind: 'lead', ...strange, fields }] }) });
    const read = await reader.byKeys('lead', keys.slice(0, 1));
    const links = { owner: 'o ', contact: undefined };
    expect(read?.byKey.get('a')).toEqual([
      { kind: 'lead', ref: 'R -\ufffd', key: 'a', version: 'v'.repeat(512), status: ' ', links, fields },
    ]);
  });

  it('waits as long as it is told to, and asks again', async () => {
    const answers: ReadAnswer[] = [{ ok: false, class: 'throttled', retryAfterMs: 1 }, records(['a'])];
    const reader = readerOf({ readMany: async () => answers.shift() ?? records() });
    expect((await reader.byKeys('lead', keys.slice(0, 1)))?.byKey.size).toBe(1);
    expect(reader.calls).toBe(2);
  });

  it('gives up on a destination that refuses again and again, and says why', async () => {
    const reader = readerOf({ readMany: async () => ({ ok: false, class: 'auth', code: 'http_401' }) });
    await expect(reader.byKeys('lead', keys)).rejects.toThrow('http_401');
    expect(reader.calls).toBe(3);
  }, 20_000);

  it('gives up in the end on a call that fails each time as if that would pass, and counts anew with every call', async () => {
    let fails = 1;
    const readMany = async ({ keys: some }: { keys: string[] }) => {
      fails -= 1;
      return fails >= 0 ? { ok: false, class: 'transient', code: 'http_500' } : records(some);
    };
    const reader = readerOf({ readMany }, { tries: 2 });
    const read = () => reader.byKeys('lead', keys.slice(0, 1));
    expect((await read())?.byKey.size).toBe(1);
    fails = 1;
    expect((await read())?.byKey.size).toBe(1);
    fails = 2;
    await expect(read()).rejects.toThrow('http_500');
    expect(reader.calls).toBe(6);
  }, 20_000);

  it('is never faster than the rate, nor than its share of a quota', async () => {
    const timed = async (more: object) => {
      const reader = readerOf({ readMany: async () => records() }, { config: more });
      const begun = performance.now();
      await reader.byKeys('lead', keys);
      await reader.byKeys('lead', keys);
      return performance.now() - begun;
    };
    expect(await timed({ reconcile: { rate: 100 } })).toBeGreaterThanOrEqual(30);
    expect(await timed({ quota: { requests: 1_000, perMs: 1_000 } })).toBeGreaterThanOrEqual(30);
  });
});
