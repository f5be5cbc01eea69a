import { describe, expect, it } from '@jest/globals';
import type { RpcResult } from './answer.js';
import { readByKeys, readChanged } from './read-many.js';
import type { RpcCall, TrytonRpc } from './rpc.js';

const keyOf = (n: number): string => String(n).repeat(32);
const mechanism = (value: string) => ({ id: 3, type: 'email', value, sequence: 1 });

/** Parties by id, with what each was merged into; the key of each is of its id. */
function serverOf(merges: Readonly<Record<number, number | null>>): { rpc: TrytonRpc; searches: () => number } {
  let searches = 0;
  const rows = Object.entries(merges).map(([id, replacedBy]) => ({
    id: Number(id),
    name: `Party ${id}`,
    code: keyOf(Number(id)),
    replaced_by: replacedBy,
    'contact_mechanisms.': replacedBy === null ? [mechanism(`of-${id}@example.test`)] : [],
  }));
  const call = async ({ params }: RpcCall): Promise<RpcResult> => {
    searches += 1;
    const [[field, , values]] = params[0] as [string, string, unknown[]][] as [[string, string, unknown[]]];
    return { kind: 'ok', value: rows.filter((row) => values.includes(field === 'id' ? row.id : row.code)) };
  };
  const rpc = { call, session: async () => ({ ok: true, session: { userId: 1 } }) } as unknown as TrytonRpc;
  return { rpc, searches: () => searches };
}

describe('parties that are read by key or id', () => {
  const read = (merges: Readonly<Record<number, number | null>>, asked: object) => {
    const { rpc, searches } = serverOf(merges);
    return readByKeys(rpc, { kind: 'contact', timeoutMs: 1_000, ...asked }).then((answer) => {
      const records = answer.ok ? answer.records : [];
      return {
        records: records.map(({ ref, key, mergedRefs, fields }) => ({ ref, key, mergedRefs, email: fields.email })),
        searches: searches(),
      };
    });
  };

  it('are what they were merged into, under the key that was asked for', async () => {
    const { records, searches } = await read({ 1: 2, 2: 4, 3: null, 4: null }, { keys: [keyOf(1), keyOf(3)] });
    expect(records).toEqual([
      { ref: '4', key: keyOf(1), mergedRefs: ['1', '2'], email: 'of-4@example.test' },
      { ref: '3', key: keyOf(3), email: 'of-3@example.test' },
    ]);
    expect(searches).toBe(3);
  });

  it('are read at once where none was merged, or the target was asked for as well', async () => {
    expect((await read({ 1: null, 2: null }, { keys: [keyOf(1), keyOf(2)] })).searches).toBe(1);
    const both = await read({ 1: 2, 2: null }, { refs: ['1', '2'] });
    expect(both).toMatchObject({
      records: [
        { ref: '2', key: keyOf(1), mergedRefs: ['1'] },
        { ref: '2', key: keyOf(2) },
      ],
      searches: 1,
    });
  });

  it.each<[string, Record<number, number>]>([
    ['is not there', { 1: 9 }],
    ['is itself', { 1: 1 }],
  ])('are themselves where the target %s', async (_what, merges) => {
    expect((await read(merges, { keys: [keyOf(1)] })).records).toMatchObject([{ key: keyOf(1), ref: '1' }]);
  });

  it('come to an end where they were merged in a circle', async () => {
    expect((await read({ 1: 2, 2: 1 }, { keys: [keyOf(1)] })).records).toHaveLength(1);
  });

  it('are shown as they are in a list of changes', async () => {
    const rpc = { ...serverOf({}).rpc, call: async () => ({ kind: 'ok', value: [{ id: 1, code: keyOf(1), replaced_by: 2 }] }) };
    const query = { kind: 'contact', from: new Date(0), to: new Date(), limit: 10, timeoutMs: 1_000 };
    const answer = await readChanged(rpc as unknown as TrytonRpc, query);
    expect(answer).toMatchObject({ ok: true, records: [{ ref: '1', key: keyOf(1) }] });
  });
});
