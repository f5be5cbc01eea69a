import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { type TestDatabase, testDatabase } from '#testkit';
import { binaryArray, type ElementType } from './binary-array.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await testDatabase('arrays');
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

async function roundTrip(type: ElementType, values: readonly unknown[]): Promise<unknown[]> {
  const { rows } = await client.query(`select value from unnest($1::${type}[]) with ordinality as row(value, position) order by position`, [
    binaryArray(type, values),
  ]);
  return rows.map(({ value }) => value);
}

describe('binaryArray', () => {
  it.each<[ElementType, unknown[]]>([
    ['bool', [true, false, null]],
    ['bytea', [Buffer.from([0, 255, 92, 34]), Buffer.alloc(0), null]],
    ['float8', [0, -1.5, 1_764_374_400_123.456, null]],
    ['int2', [0, -32_768, 32_767]],
    ['int4', [-2_147_483_648, 2_147_483_647, null]],
    ['json', [{ a: 'ä' }, []]],
    ['jsonb', [{ a: [1, null] }, 'x']],
    ['text', ['', 'a"b\\c,{}', '😀 𠮷 \u200f', null]],
    [
      'timestamptz',
      [new Date(0), new Date('1969-12-31T23:59:59.999Z'), new Date('2026-02-28T10:11:12.345Z'), new Date('9999-12-31T23:59:59.999Z')],
    ],
    ['uuid', ['0190aaaa-0b1c-7d2e-8f3a-9bcdef012345', null]],
  ])('carries %s values as they are', async (type, values) => {
    const written = type.startsWith('json') ? values.map((value) => JSON.stringify(value)) : values;
    expect(await roundTrip(type, written)).toEqual(values);
  });

  it('carries 64-bit integers with every digit', async () => {
    expect(await roundTrip('int8', [9223372036854775807n, -1n, 5])).toEqual(['9223372036854775807', '-1', '5']);
  });

  it('carries an empty array', async () => {
    expect(await roundTrip('text', [])).toEqual([]);
  });

  it('refuses text that is no UUID instead of spoiling its neighbours', () => {
    expect(() => binaryArray('uuid', ['0190aaaa'])).toThrow(RangeError);
  });
});
