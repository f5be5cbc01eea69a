import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { migrateService, schemaName } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { migrations as crmWriter } from '../../apps/crm-writer/src/migrations/index.js';
import { migrations as intake } from '../../apps/intake/src/migrations/index.js';
import { migrations as notifier } from '../../apps/notifier/src/migrations/index.js';
import { describeSchema, readRows } from './describe-schema.js';
import { rowsOfBefore } from './rows-of-before.js';

type MigrationClass = new () => MigrationInterface;
interface Upgrade {
  service: keyof typeof rowsOfBefore;
  migrations: MigrationClass[];
  /** SHA-256 of all that the first migration runs. Databases were made with it: what it lacks is a later migration's, so this never changes. */
  first: string;
}

const upgrades: Upgrade[] = [
  { service: 'intake', migrations: intake, first: '847f32cb7bf577963c8c8e1e5f74025431e1f4b30349c0290a7bfc807d0b574f' },
  { service: 'crm-writer', migrations: crmWriter, first: 'b8b6a248b64e19f10e231a47c45c21e6ffcd95cced6619076826d6dd394ace82' },
  { service: 'notifier', migrations: notifier, first: 'b8b6a248b64e19f10e231a47c45c21e6ffcd95cced6619076826d6dd394ace82' },
];

/** SHA-256 of the statements of a migration, in order. */
async function digestOf(Migration: MigrationClass): Promise<string> {
  const hash = createHash('sha256');
  const runner = { query: async (statement: string) => hash.update(`${statement}\0`) };
  await new Migration().up(runner as unknown as QueryRunner);
  return hash.digest('hex');
}

describe.each(upgrades)('the database of $service', ({ service, migrations, first }) => {
  const schema = schemaName(service);
  const tables = [...rowsOfBefore[service].matchAll(/INSERT INTO (\w+)/g)].map(([, table]) => String(table));
  const databases: { database: TestDatabase; client: pg.Client }[] = [];
  const open = async (name: string): Promise<{ url: string; client: pg.Client }> => {
    const database = await testDatabase(name);
    const client = new pg.Client({ connectionString: database.url });
    databases.push({ database, client });
    await client.connect();
    await client.query(`set search_path to ${schema}`);
    return { url: database.url, client };
  };
  let before: Record<string, unknown[]>;
  let old: { url: string; client: pg.Client };
  let fresh: { url: string; client: pg.Client };

  beforeAll(async () => {
    old = await open('upgraded');
    await migrateService({ url: old.url, service, migrations: migrations.slice(0, 1) });
    await old.client.query(rowsOfBefore[service]);
    before = await readRows(old.client, schema, tables);
    await migrateService({ url: old.url, service, migrations });
    fresh = await open('anew');
    await migrateService({ url: fresh.url, service, migrations });
  });

  afterAll(async () => {
    for (const { database, client } of databases) {
      await client.end();
      await database.drop();
    }
  });

  it('begins with the migration that databases were made with', async () => {
    expect(await digestOf(migrations[0] as MigrationClass)).toBe(first);
  });

  it('has a few rows in each table before it is upgraded', async () => {
    const { rows } = await old.client.query<{ tablename: string }>('select tablename from pg_tables where schemaname = $1', [schema]);
    const added = [
      'migration',
      'told',
      'destination_pause',
      'pending_revision',
      'destination_state',
      'contact_state',
      'call_time',
      'received',
      'replay_item',
      'ownerless_lead',
    ];
    expect(
      rows
        .map(({ tablename }) => tablename)
        .filter((name) => !added.includes(name))
        .sort(),
    ).toEqual([...tables].sort());
    for (const table of tables) expect(before[table]).not.toEqual([]);
  });

  it('is after its upgrade what a new one is', async () => {
    expect(await describeSchema(old.client, schema)).toEqual(await describeSchema(fresh.client, schema));
  });

  it('keeps every row through its upgrade', async () => {
    const after = await readRows(old.client, schema, tables);
    const keyed = (rows: unknown[] | undefined) => (rows ?? []).map((row) => JSON.stringify(row)).sort();
    for (const table of tables) {
      const kept = after[table]?.map((row) => pick(row, before[table]?.[0]));
      expect(keyed(kept)).toEqual(keyed(before[table]));
    }
  });

  it('is upgraded where it has some of the additions already', async () => {
    const whole = await describeSchema(fresh.client, schema);
    await fresh.client.query(`delete from ${schema}.migration where name like 'Recovery%'`);
    expect(await migrateService({ url: fresh.url, service, migrations })).toEqual({ applied: ['Recovery1764420000000'] });
    expect(await describeSchema(fresh.client, schema)).toEqual(whole);
  });

  if (service === 'intake') {
    it('knows of leads of before their reference by key, and when they were announced last', async () => {
      const keys = await old.client.query('select external_ref, lead_ref from intake_key order by 1');
      expect(keys.rows).toEqual([1, 2, 3].map((n) => ({ external_ref: `ref-${n}`, lead_ref: `L-${n}` })));
      const { rows } = await old.client.query<{ announced_at: Date }>('select announced_at from delivery order by event_id, destination');
      expect(rows.map(({ announced_at }) => announced_at.toISOString())).toEqual([
        '2026-11-01T10:00:00.000Z',
        '2026-11-01T10:15:00.000Z',
        '2026-11-02T10:00:00.000Z',
        '2026-11-01T10:00:00.000Z',
      ]);
    });
  } else {
    it('has nothing approved, looked up or told of deliveries of before', async () => {
      const { rows } = await old.client.query(`
        select distinct replay_item, closed_items, original_deadline_at, raised_at, attempts_before, absences, looked_up_at
        from delivery join operation using (event_id, destination)`);
      const none = { replay_item: null, closed_items: [], original_deadline_at: null, raised_at: null };
      expect(rows).toEqual([{ ...none, attempts_before: 0, absences: 0, looked_up_at: null }]);
    });
  }
});

/** The members of a row that another one has too, in that one's order. */
function pick(row: unknown, like: unknown): Record<string, unknown> {
  const values = row as Record<string, unknown>;
  return Object.fromEntries(Object.keys(like as object).map((name) => [name, values[name]]));
}
