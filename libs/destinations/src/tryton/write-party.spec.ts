import { describe, expect, it } from '@jest/globals';
import type { RpcResult } from './answer.js';
import type { RpcCall, TrytonRpc } from './rpc.js';
import { type PartyWrite, PartyWriter } from './write-party.js';

const at = (second: number) => ({ __class__: 'datetime', year: 2026, month: 1, day: 1, hour: 0, minute: 0, second, microsecond: 0 });
const party = (second: number, name = 'Theirs') => ({ id: 7, name, code: 'person', write_date: at(second), _timestamp: String(second) });
const versionOf = (second: number): string => `2026-01-01T00:00:0${second}.000000Z`;

/** A server with one party, or none, which answers so to writes, one after the other. */
function serverOf(rows: object[], writes: RpcResult[] = []): { rpc: TrytonRpc; methods: string[] } {
  const methods: string[] = [];
  const call = async ({ method }: RpcCall): Promise<RpcResult> => {
    methods.push(method.split('.').at(-1) ?? '');
    if (method.endsWith('search_read')) return { kind: 'ok', value: rows };
    return writes.shift() ?? { kind: 'ok', value: [8] };
  };
  return { rpc: { call } as unknown as TrytonRpc, methods };
}
const write: PartyWrite = { code: 'person', fields: { name: 'Ours' }, whole: { name: 'Ours' }, ref: '7', timeoutMs: 1_000 };
const compared = { version: versionOf(1) };
const changed = { kind: 'permanent', class: 'conflict', code: 'changed_by_person' };

describe('a write of a party', () => {
  it('begins anew where it meets somebody else’s', async () => {
    const { rpc, methods } = serverOf([party(2)], [{ kind: 'concurrent' }]);
    expect(await new PartyWriter(rpc, write).run()).toMatchObject({ kind: 'succeeded', ref: '7' });
    expect(methods).toEqual(['search_read', 'write', 'search_read', 'write']);
  });

  it('that was approved for the party as it was compared changes it while it is that one', async () => {
    const { rpc, methods } = serverOf([party(1)]);
    expect(await new PartyWriter(rpc, { ...write, compared }).run()).toMatchObject({ kind: 'succeeded', ref: '7' });
    expect(methods).toEqual(['search_read', 'write']);
  });

  it.each<[string, object[], RpcResult[], string[]]>([
    ['was written since', [party(2)], [], ['search_read']],
    ['is written at the same moment', [party(1)], [{ kind: 'concurrent' }], ['search_read', 'write']],
    ['is not there any more', [], [], ['search_read']],
  ])('that was approved for the party as it was compared ends where it %s', async (_, rows, writes, methods) => {
    const server = serverOf(rows, writes);
    expect(await new PartyWriter(server.rpc, { ...write, compared }).run()).toEqual(changed);
    expect(server.methods).toEqual(methods);
  });
});
