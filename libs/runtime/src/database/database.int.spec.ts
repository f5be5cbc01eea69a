import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { eventually, openTcpProxy, type TcpProxy, type TestDatabase, testDatabase } from '#testkit';
import { type Database, openDatabase } from './database.js';
import { DatabaseUnavailable } from './database-errors.js';
import { migrateService } from './migrate-service.js';

const service = 'runtime-spec';
const role = 'ld_runtime_spec';
const schema = 'runtime_spec';

class CreateThing1700000000000 {
  readonly name = 'CreateThing1700000000000';
  async up(runner: { query(sql: string): Promise<unknown> }): Promise<void> {
    await runner.query('create table thing (id bigint primary key, label text not null, big bigint generated always as identity)');
  }
  async down(): Promise<void> {}
}

let fresh: TestDatabase;
let db: Database;
let owner: pg.Client;

async function open(more: Partial<Parameters<typeof openDatabase>[0]> = {}): Promise<Database> {
  return openDatabase({ url: fresh.url, role, schema, applicationName: 'runtime-spec', ...more });
}

beforeAll(async () => {
  fresh = await testDatabase('runtime');
  await migrateService({ url: fresh.url, service, migrations: [CreateThing1700000000000] });
  db = await open({ poolSize: 2 });
  owner = new pg.Client({ connectionString: fresh.url });
  await owner.connect();
});

afterAll(async () => {
  await db.close();
  await owner.end();
  await fresh.drop();
});

/** Ends every backend of the pool, as a restart does. */
async function killBackends(applicationName: string): Promise<void> {
  await owner.query('select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1', [applicationName]);
}

describe('a database', () => {
  it('takes on the role and the search path without a statement of its own', async () => {
    const rows = await db.sql<{ who: string; path: string }>(
      'who',
      `select current_user::text as who, current_setting('search_path') as path`,
      [],
    );
    expect(rows).toEqual([{ who: role, path: schema }]);
  });

  it('lets the service change rows, not tables', async () => {
    await db.sql('insert_thing', 'insert into thing (id, label) values ($1, $2)', [1, 'one']);
    expect(await db.sql('read_thing', 'select label from thing where id = $1', [1])).toEqual([{ label: 'one' }]);
    await expect(db.sql('drop_thing', 'drop table thing', [])).rejects.toMatchObject({ name: 'StatementFailed', code: '42501' });
    await expect(db.sql('forge', `insert into migration (timestamp, name) values (1, 'x')`, [])).rejects.toMatchObject({ code: '42501' });
  });

  it('reads and writes through TypeORM on the same pool', async () => {
    expect(await db.dataSource.query('select current_user::text as who')).toEqual([{ who: role }]);
  });

  it('names the constraint and the statement of a refused row, and nothing of its content', async () => {
    const failure = db.sql('insert_twice', 'insert into thing (id, label) values ($1, $2), ($1, $2)', [77, 'ada@example.test']);
    const error = await failure.catch((caught: unknown) => caught as Error);
    expect(error).toMatchObject({ code: '23505', constraint: 'thing_pkey', statement: 'insert_twice', isDataError: true });
    expect(JSON.stringify(error) + String((error as Error).stack)).not.toContain('ada@');
    const cast = await db.sql('cast', 'select $1::text::int', ['ada@example.test']).catch((caught: unknown) => caught as Error);
    expect(cast).toMatchObject({ code: '22P02' });
    expect(String((cast as Error).stack)).not.toContain('ada@');
  });

  it('keeps the text of PostgreSQL where it speaks of the statement', async () => {
    await expect(db.sql('typo', 'select nothing_like_it', [])).rejects.toThrow('nothing_like_it');
  });

  it('gives int8 as text, so that no digit is lost', async () => {
    expect(await db.sql('big', 'select 9007199254740993::bigint as big', [])).toEqual([{ big: '9007199254740993' }]);
  });
});

describe('a transaction', () => {
  it('commits what it did, or nothing', async () => {
    await db.transaction(async (tx) => {
      await tx.sql('insert_thing', 'insert into thing (id, label) values ($1, $2)', [10, 'ten']);
    });
    await expect(
      db.transaction(async (tx) => {
        await tx.sql('insert_thing', 'insert into thing (id, label) values ($1, $2)', [11, 'eleven']);
        throw new Error('changed my mind');
      }),
    ).rejects.toThrow('changed my mind');
    expect(await db.sql('ids', 'select id from thing where id in (10, 11)', [])).toEqual([{ id: '10' }]);
  });

  it('rolls back after a refused row and leaves the connection usable', async () => {
    const attempt = db.transaction((tx) => tx.sql('insert_thing', 'insert into thing (id, label) values ($1, $2)', [10, 'again']));
    await expect(attempt).rejects.toMatchObject({ code: '23505' });
    const again = await Promise.all([1, 2, 3, 4].map(() => db.sql('one', 'select 1 as one', [])));
    expect(again).toEqual(Array(4).fill([{ one: 1 }]));
  });

  it('more at once than the pool holds all finish', async () => {
    const work = Array.from({ length: 10 }, (_, index) =>
      db.transaction(async (tx) => {
        await tx.sql('insert_thing', 'insert into thing (id, label) values ($1, $2)', [100 + index, 'many']);
      }),
    );
    await Promise.all(work);
    expect(await db.sql('many', `select count(*)::int as count from thing where label = 'many'`, [])).toEqual([{ count: 10 }]);
  });

  it('survives the death of its backend between two statements with a typed error', async () => {
    const attempt = db.transaction(async (tx) => {
      const [row] = await tx.sql<{ pid: number }>('pid', 'select pg_backend_pid() as pid', []);
      await owner.query('select pg_terminate_backend($1)', [row?.pid]);
      await eventually('the backend is gone', async () => {
        const { rowCount } = await owner.query('select from pg_stat_activity where pid = $1', [row?.pid]);
        return rowCount === 0;
      });
      await tx.sql('one', 'select 1 as one', []);
    });
    await expect(attempt).rejects.toBeInstanceOf(DatabaseUnavailable);
    expect(await db.sql('one', 'select 1 as one', [])).toEqual([{ one: 1 }]);
  });
});

describe('a database that goes away', () => {
  it('costs idle connections nothing but themselves', async () => {
    await Promise.all([db.sql('one', 'select 1 as one', []), db.sql('one', 'select 1 as one', [])]);
    await killBackends('runtime-spec');
    const rows = await eventually('a statement works again', () => db.sql('one', 'select 1 as one', []));
    expect(rows).toEqual([{ one: 1 }]);
  });

  it('gives DatabaseUnavailable to a statement that was under way', async () => {
    const sleeping = db.sql('sleep', 'select pg_sleep(60)', []);
    sleeping.catch(() => {});
    await eventually('the statement runs', async () => {
      const { rowCount } = await owner.query(`select from pg_stat_activity where query = 'select pg_sleep(60)' and state = 'active'`);
      return rowCount === 1;
    });
    await killBackends('runtime-spec');
    await expect(sleeping).rejects.toMatchObject({ name: 'DatabaseUnavailable', code: '57P01' });
  });

  it('gives DatabaseUnavailable when it is too slow', async () => {
    const hasty = await open({ statementTimeoutMs: 50 });
    try {
      await expect(hasty.sql('sleep', 'select pg_sleep(60)', [])).rejects.toMatchObject({ name: 'DatabaseUnavailable', code: '57014' });
      expect(await hasty.sql('one', 'select 1 as one', [])).toEqual([{ one: 1 }]);
    } finally {
      await hasty.close();
    }
  });

  it('gives DatabaseUnavailable to who waits too long for a connection, not to who has one', async () => {
    const small = await open({ poolSize: 1, acquireTimeoutMs: 1_000 });
    try {
      await small.transaction(async (tx) => {
        await expect(small.sql('one', 'select 1 as one', [])).rejects.toMatchObject({
          name: 'DatabaseUnavailable',
          code: 'acquire_timeout',
        });
        expect(await tx.sql('one', 'select 1 as one', [])).toEqual([{ one: 1 }]);
      });
    } finally {
      await small.close();
    }
  });

  it('names what is wrong with the login instead of failing darkly', async () => {
    await expect(open({ role: 'ld_nobody' })).rejects.toMatchObject({
      name: 'ConfigError',
      problems: [{ path: 'DATABASE_ROLE (ld_nobody)' }],
    });
    const elsewhere = new URL(fresh.url);
    elsewhere.pathname = '/no_such_database';
    await expect(open({ url: elsewhere.href })).rejects.toMatchObject({ name: 'ConfigError', problems: [{ path: 'DATABASE_URL' }] });
    const closed = new URL(fresh.url);
    closed.port = '1';
    await expect(open({ url: closed.href })).rejects.toMatchObject({ name: 'DatabaseUnavailable', code: 'ECONNREFUSED' });
  });

  it('recovers from a plan that a migration made stale', async () => {
    await owner.query(`create table ${schema}.wide (id int); grant select on ${schema}.wide to ${role}`);
    await db.sql('wide', 'select * from wide', []);
    await owner.query(`alter table ${schema}.wide add column more int`);
    expect(await eventually('a connection without the stale plan', () => db.sql('wide', 'select * from wide', []))).toEqual([]);
  });
});

describe('a network that keeps the connection to a database and brings nothing any more', () => {
  const silence = { name: 'DatabaseUnavailable', code: 'query_timeout' };
  let network: TcpProxy;
  let behind: Database;

  /** One connection, so that one which is stuck stops everything. */
  beforeEach(async () => {
    const { port } = new URL(fresh.url);
    network = await openTcpProxy({ target: { port: Number(port) } });
    const url = new URL(fresh.url);
    url.port = String(network.port);
    behind = await open({ url: url.href, applicationName: 'runtime-behind', poolSize: 1, statementTimeoutMs: 300, acquireTimeoutMs: 300 });
    expect(await behind.sql('one', 'select 1 as one', [])).toEqual([{ one: 1 }]);
  });
  afterEach(async () => {
    await behind.close();
    await network.close();
  });

  it('gives DatabaseUnavailable to the statement, to who waits behind it and to who comes next, and serves again when it is whole', async () => {
    network.blackhole();
    const [first, second] = await Promise.allSettled([1, 2].map(() => behind.sql('one', 'select 1 as one', [])));
    expect(first).toMatchObject({ status: 'rejected', reason: silence });
    expect(second).toMatchObject({ status: 'rejected', reason: { name: 'DatabaseUnavailable', code: 'acquire_timeout' } });
    // What was silent is thrown away, so this is the connect of another connection.
    await expect(behind.sql('one', 'select 1 as one', [])).rejects.toMatchObject({ name: 'DatabaseUnavailable' });
    expect(network.hits).toBeGreaterThan(0);
    await network.heal();
    expect(await Promise.all([1, 2, 3].map(() => behind.sql('one', 'select 1 as one', [])))).toEqual(Array(3).fill([{ one: 1 }]));
  });

  it('ends a transaction that was open, which leaves neither its row nor its lock', async () => {
    const insert = ['insert_thing', 'insert into thing (id, label) values ($1, $2)', [500, 'silence']] as const;
    const broken = behind.transaction(async (tx) => {
      await tx.sql(...insert);
      network.blackhole();
      await tx.sql('one', 'select 1 as one', []);
    });
    await expect(broken).rejects.toMatchObject(silence);
    await network.heal();
    await behind.transaction((tx) => tx.sql(...insert));
    expect(await db.sql('silence', `select id from thing where label = 'silence'`, [])).toEqual([{ id: '500' }]);
  });
});
