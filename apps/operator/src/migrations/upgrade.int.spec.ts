import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Database, migrateService, openDatabase } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { storeMany } from '../../test/many-letters.js';
import { groupLetters, groupsQuery } from '../dead-letters/group-letters.js';
import { everywhere } from '../dead-letters/letter-filter.js';
import { migrations } from './index.js';

jest.setTimeout(60_000);

/** What the release before asks: its groups, as its statements name them. */
const groupsOfBefore = `SELECT group_key, class, destination, count(*)::int AS count, min(age_from) AS age_from, min(respond_by) AS respond_by,
  min(owner) AS owner, min(disposition) AS disposition, max(dead_at) AS dead_at FROM open_letter WHERE NOT test GROUP BY 1, 2, 3 ORDER BY 1`;

class Fails1999999999999 {
  readonly name = 'Fails1999999999999';
  up(): Promise<void> {
    return Promise.reject(new Error('a later migration'));
  }
  async down(): Promise<void> {}
}

let database: TestDatabase;
let before: Database;
const ofBefore = migrations.filter(({ name }) => Number(name.slice(-13)) < 1764460800010);
const migrate = (all: readonly (new () => InstanceType<(typeof migrations)[number]>)[]) =>
  migrateService({ url: database.url, service: 'operator', migrations: [...all] });

beforeAll(async () => {
  database = await testDatabase('operator_upgrade');
  await migrate(ofBefore);
  before = await openDatabase({ url: database.url, role: 'ld_operator', schema: 'operator', applicationName: 'before' });
  await storeMany(before, 100);
});
afterAll(async () => {
  await before?.close();
  await database?.drop();
});

describe('an upgrade of the operator', () => {
  it('leaves the one of before at work, reading and storing, also where a later migration fails', async () => {
    const groups = () => before.sql<{ count: number }>('before.groups', groupsOfBefore, []);
    const found = await groups();
    expect(found.length).toBeGreaterThan(0);
    await expect(migrate([...migrations, Fails1999999999999])).rejects.toThrow('a later migration');
    expect(await groups()).toEqual(found);
    await storeMany(before, 100, 101);
    const [{ open } = { open: 0 }] = await before.sql<{ open: number }>(
      'before.open',
      "SELECT count(*)::int AS open FROM dead_letter WHERE state = 'open' AND NOT test",
      [],
    );
    const sum = (all: { count: number }[]): number => all.reduce((total, { count }) => total + count, 0);
    expect(sum(await groups())).toBe(open);
    expect(sum((await groupLetters(before, groupsQuery.parse({ limit: 500 }), everywhere)).items)).toBe(open);
  });
});
