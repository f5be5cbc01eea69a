import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type TestDatabase, testDatabase, uniqueName } from '#testkit';
import { openDatabase } from './database.js';
import { migrateService } from './migrate-service.js';

class CreateNote1700000000001 {
  readonly name = 'CreateNote1700000000001';
  async up(runner: { query(sql: string): Promise<unknown> }): Promise<void> {
    await runner.query('create table note (at timestamptz not null default clock_now())');
  }
  async down(): Promise<void> {}
}

class AlterNote1700000000002 {
  readonly name = 'AlterNote1700000000002';
  async up(runner: { query(sql: string): Promise<unknown> }): Promise<void> {
    await runner.query('alter table note add column body text');
  }
  async down(): Promise<void> {}
}

/** Fails unless the service has its rights on the table of the migration before. */
class Looks1700000000003 {
  readonly name = 'Looks1700000000003';
  async up(runner: { query(sql: string): Promise<unknown> }): Promise<void> {
    await runner.query("select 1 / has_table_privilege('ld_mig_c', 'note', 'select, insert, update, delete')::int");
  }
  async down(): Promise<void> {}
}

class Fails1700000000004 {
  readonly name = 'Fails1700000000004';
  up(): Promise<void> {
    return Promise.reject(new Error('no'));
  }
  async down(): Promise<void> {}
}

let fresh: TestDatabase;
let owner: pg.Client;

beforeAll(async () => {
  fresh = await testDatabase('migrate');
  owner = new pg.Client({ connectionString: fresh.url });
  await owner.connect();
});

afterAll(async () => {
  await owner.end();
  await fresh.drop();
});

describe('migrateService', () => {
  it('can be run by several at once on an empty database, and applies each migration once', async () => {
    const services = ['mig-a', 'mig-b', 'mig-a', 'mig-b'];
    const results = await Promise.all(
      services.map((service) => migrateService({ url: fresh.url, service, migrations: [CreateNote1700000000001] })),
    );
    const applied = results.flatMap((result, index) => result.applied.map((name) => `${services[index]} ${name}`));
    expect(applied.sort()).toEqual(['mig-a CreateNote1700000000001', 'mig-b CreateNote1700000000001']);
    expect(await migrateService({ url: fresh.url, service: 'mig-a', migrations: [CreateNote1700000000001] })).toEqual({ applied: [] });
  });

  it('leaves a clock that was replaced as it is', async () => {
    await owner.query(
      `create or replace function mig_a.clock_now() returns timestamptz language sql as $$ select timestamptz '2030-01-01 00:00Z' $$`,
    );
    await migrateService({ url: fresh.url, service: 'mig-a', migrations: [CreateNote1700000000001] });
    const { rows } = await owner.query<{ at: Date }>('insert into mig_a.note default values returning at');
    expect(rows[0]?.at.toISOString()).toBe('2030-01-01T00:00:00.000Z');
  });

  it('keeps one service out of the tables of another', async () => {
    const db = await openDatabase({ url: fresh.url, role: 'ld_mig_b', schema: 'mig_b', applicationName: 'mig-spec' });
    try {
      expect(await db.sql('mine', 'select count(*)::int as count from note', [])).toEqual([{ count: 0 }]);
      await expect(db.sql('theirs', 'select * from mig_a.note', [])).rejects.toMatchObject({ code: '42501' });
    } finally {
      await db.close();
    }
  });

  it('lets a login user in that is nothing but a member of the role', async () => {
    const login = uniqueName('login').replaceAll('-', '_');
    await owner.query(`create role ${login} login password 'spec'`);
    await migrateService({ url: fresh.url, service: 'mig-a', migrations: [CreateNote1700000000001], login });
    const url = new URL(fresh.url);
    url.username = login;
    url.password = 'spec';
    const db = await openDatabase({ url: url.href, role: 'ld_mig_a', schema: 'mig_a', applicationName: 'mig-spec' });
    try {
      expect(await db.sql('who', 'select current_user::text as who', [])).toEqual([{ who: 'ld_mig_a' }]);
    } finally {
      await db.close();
      await owner.query(`drop role ${login}`);
    }
  });

  it('gives the service each new table at once, also where a later migration fails', async () => {
    const migrations = [CreateNote1700000000001, Looks1700000000003, Fails1700000000004];
    await expect(migrateService({ url: fresh.url, service: 'mig-c', migrations })).rejects.toThrow('no');
    const db = await openDatabase({ url: fresh.url, role: 'ld_mig_c', schema: 'mig_c', applicationName: 'mig-spec' });
    try {
      expect(await db.sql('write', 'insert into note default values returning 1 as one', [])).toEqual([{ one: 1 }]);
    } finally {
      await db.close();
    }
    await migrateService({ url: fresh.url, service: 'mig-c', migrations: migrations.slice(0, 2) });
    const { rows } = await owner.query("select has_table_privilege('ld_mig_c', 'mig_c.migration', 'insert') as may");
    expect(rows).toEqual([{ may: false }]);
  });

  it('gives up on a table that somebody holds, and succeeds when it is run again', async () => {
    const migrations = [CreateNote1700000000001, AlterNote1700000000002];
    await owner.query('begin; lock table mig_a.note in access share mode');
    await expect(migrateService({ url: fresh.url, service: 'mig-a', migrations })).rejects.toMatchObject({
      driverError: { code: '55P03' },
    });
    await owner.query('rollback');
    expect(await migrateService({ url: fresh.url, service: 'mig-a', migrations })).toEqual({ applied: ['AlterNote1700000000002'] });
  });
});
