import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { storeMany } from '../../test/many-letters.js';
import { openOperatorDatabase } from '../../test/rig.js';
import { groupLetters, groupsQuery } from './group-letters.js';
import { purgeKinds } from './kinds-purge.js';
import { everywhere } from './letter-filter.js';

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await testDatabase('letter_kinds');
  db = await openOperatorDatabase(database.url);
  await storeMany(db, 500);
});
afterAll(async () => {
  await db?.close();
  await database?.drop();
});

const number = async (text: string): Promise<number> =>
  Number((await db.sql<{ n: string }>(createHash('sha1').update(text).digest('hex'), text, []))[0]?.n);
const counted = async (): Promise<number> =>
  (await groupLetters(db, groupsQuery.parse({ limit: 500 }), everywhere)).items.reduce((sum, { count }) => sum + count, 0);
const open = (): Promise<number> => number("SELECT count(*) AS n FROM dead_letter WHERE state = 'open'");

describe('what open letters have in common', () => {
  it('stands once for all that are the same, and follows a letter that becomes another', async () => {
    const kinds = await number('SELECT count(*) AS n FROM letter_kind');
    expect(kinds).toBeLessThan(await open());
    await storeMany(db, 500, 501);
    expect(await counted()).toBe(await open());
    await db.sql('spec.assign', "UPDATE dead_letter SET assignee = 'ada', disposition = 'wait' WHERE class = 'auth'", []);
    const { items } = await groupLetters(db, groupsQuery.parse({ assignee: 'ada', limit: 500 }), everywhere);
    expect(new Set(items.map(({ class: failure, disposition, assignee }) => [failure, disposition, assignee].join()))).toEqual(
      new Set(['auth,wait,ada']),
    );
    expect(items.reduce((sum, { count }) => sum + count, 0)).toBe(
      await number("SELECT count(*) AS n FROM dead_letter WHERE state = 'open' AND class = 'auth'"),
    );
    expect(await counted()).toBe(await open());
  });

  it('names the newest three of a group whatever else is different about them', async () => {
    const [group] = (await groupLetters(db, groupsQuery.parse({ limit: 1 }), everywhere)).items;
    await db.sql('spec.spread', 'UPDATE dead_letter SET assignee = (random() * 20)::int::text WHERE group_key = $1::uuid', [group?.key]);
    const [spread] = (await groupLetters(db, groupsQuery.parse({ group: group?.key }), everywhere)).items;
    const newest = await db.sql<{ id: string }>(
      'spec.newest',
      "SELECT event_id AS id FROM dead_letter WHERE group_key = $1::uuid AND state = 'open' ORDER BY dead_at DESC LIMIT 3",
      [group?.key],
    );
    expect(spread?.sample_event_ids).toEqual(newest.map(({ id }) => id));
    expect(spread).toMatchObject({ count: group?.count, assignee: null });
  });

  it('is taken away with its last letter, but not from under one that is being written', async () => {
    await db.sql('spec.close', "UPDATE dead_letter SET state = 'closed' WHERE destination = 'crm'", []);
    await db.transaction(async (tx) => {
      await tx.sql('spec.reopen', "UPDATE dead_letter SET state = 'open' WHERE destination = 'crm' AND class = 'auth'", []);
      expect(await purgeKinds(db)).toBe(0);
    });
    expect(await counted()).toBe(await open());
    expect(await purgeKinds(db)).toBeGreaterThan(0);
    expect(await counted()).toBe(await open());
    expect(await number('SELECT count(*) AS n FROM letter_kind WHERE kind_id NOT IN (SELECT kind_id FROM open_letter_times)')).toBe(0);
  });
});
