import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger, type Database } from '#runtime';
import { testSize } from '#testkit';
import { newEvents, received } from '../../../test/support/delivery-rig.js';
import { nodesOf, type PlanNode } from '../../../test/support/plans.js';
import {
  insertDelivery,
  openSweepRig,
  type RowOptions,
  type SweepRig,
  standing,
  sweeperOf,
  sweptTarget,
  verifierOf,
} from '../../../test/support/sweep-rig.js';
import { createClaim } from './claims.js';
import { Purge } from './purge.js';

const day = 86_400_000;

describe('the purge', () => {
  let rig: SweepRig;
  beforeAll(async () => {
    rig = await openSweepRig('purge');
  });
  afterAll(() => rig.close());
  afterEach(() => rig.clear());

  const purge = (batch = 3) => new Purge({ db: rig.db, logger: createLogger('rig', 'silent'), batch, pauseMs: 0 }).purge();
  const insert = (options: RowOptions) => insertDelivery(rig.db, options);
  const count = async (table: string) =>
    (await rig.db.sql<{ n: number }>(`rig.count.${table}`, `SELECT count(*)::int AS n FROM ${table}`, []))[0]?.n;
  const states = async () =>
    (await rig.db.sql<{ state: string }>('rig.states', 'SELECT state FROM delivery ORDER BY state', [])).map(({ state }) => state);

  it('deletes what ended 40 days ago with its operations and attempts, in batches, and nothing that is open', async () => {
    for (const state of ['delivered', 'dead', 'expired', 'discarded', 'erased', 'delivered', 'delivered', 'delivered']) {
      await insert({
        state,
        operations: [
          { kind: 'contact', state: 'succeeded' },
          { kind: 'lead', state: 'succeeded' },
        ],
      });
    }
    await rig.db.sql(
      'rig.attempts',
      `INSERT INTO attempt (operation_key, attempt_id, late, number, started_at, outcome)
       SELECT operation_key, gen_random_uuid(), false, 1, clock_now(), 'succeeded' FROM operation`,
      [],
    );
    const open = ['held', 'in_flight', 'pending', 'uncertain', 'waiting'];
    for (const state of open) await insert({ state });
    await rig.advance(39 * day);
    expect(await purge()).toBe(0);
    await rig.advance(40 * day + 60_000);
    expect(await purge()).toBe(8);
    expect(await states()).toEqual(open);
    expect([await count('operation'), await count('attempt')]).toEqual([5, 0]);
  });

  it('keeps what changed within the time, however old it is', async () => {
    const old = await insert({ state: 'dead' });
    await insert({ state: 'delivered' });
    await rig.advance(41 * day);
    await rig.db.sql('rig.touch', 'UPDATE delivery SET updated_at = clock_now() WHERE event_id = $1', [old]);
    expect(await purge()).toBe(1);
    expect(await states()).toEqual(['dead']);
  });

  it('goes through the tables of the service as well, in batches until one is not full', async () => {
    const left = [3, 3, 1];
    const limits: number[] = [];
    const other = async (limit: number) => {
      limits.push(limit);
      return left.shift() ?? 0;
    };
    await new Purge({ db: rig.db, logger: createLogger('rig', 'silent'), batch: 3, pauseMs: 0, others: [other] }).purge();
    expect(limits).toEqual([3, 3, 3]);
  });

  it('deletes each row once where several processes purge', async () => {
    await Promise.all(Array.from({ length: 50 }, () => insert({ state: 'delivered' })));
    await rig.advance(41 * day);
    const deleted = await Promise.all([purge(7), purge(7), purge(7)]);
    expect(deleted.reduce((sum, one) => sum + one, 0)).toBe(50);
    expect(await count('delivery')).toBe(0);
  });
});

/** Remembers the plan of each statement it runs. */
class ExplainingDatabase {
  readonly plans = new Map<string, PlanNode>();
  constructor(private readonly inner: Database) {}

  private wrap(sql: Database['sql']): Database['sql'] {
    return async <R>(name: string, text: string, values: readonly unknown[]) => {
      const [row] = await sql<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(`explain.${name}`, `EXPLAIN (FORMAT JSON) ${text}`, values);
      if (row?.['QUERY PLAN'][0]) this.plans.set(name, row['QUERY PLAN'][0].Plan);
      return sql<R>(name, text, values);
    };
  }

  asDatabase(): Database {
    const { inner } = this;
    return {
      dataSource: inner.dataSource,
      sql: this.wrap((...args) => inner.sql(...args)),
      transaction: (fn) => inner.transaction((tx) => fn({ sql: this.wrap((...args) => tx.sql(...args)) })),
      close: () => inner.close(),
    };
  }
}

const long = testSize() === 'long';
/** Rows that ended long ago, as many as make a scan of the table dear. */
const manyRows = long ? 1_000_000 : 50_000;
const fillLimitMs = long ? 900_000 : 60_000;
const purgeLimitMs = long ? 1_800_000 : 60_000;

describe('with many delivered leads', () => {
  let rig: SweepRig;
  const explaining = () => new ExplainingDatabase(rig.db);

  beforeAll(async () => {
    rig = await openSweepRig('growth');
    const id = `(lpad(to_hex((extract(epoch FROM clock_now()) * 1000)::bigint - n), 12, '0') || '7000' || lpad(to_hex(n), 16, '8'))::uuid`;
    await rig.asOwner(
      `INSERT INTO delivery (event_id, destination, state, submitted_at, deadline_at, claimed_at, updated_at, test, lead_ref, operation_keys, event)
       SELECT ${id}, 'rig', CASE WHEN n % 25 = 0 THEN 'dead' ELSE 'delivered' END, clock_now(), clock_now(), clock_now(), clock_now(), false, 'L', ARRAY[n::text], '\\x00'
       FROM generate_series(1, ${manyRows}) AS n`,
    );
    await rig.asOwner(
      `INSERT INTO operation (operation_key, event_id, destination, kind, state, updated_at)
       SELECT unnest(operation_keys), event_id, destination, 'lead', 'succeeded', updated_at FROM delivery`,
    );
    await rig.asOwner(
      `INSERT INTO attempt (operation_key, attempt_id, late, number, started_at, outcome)
       SELECT operation_key, gen_random_uuid(), false, 1, updated_at, 'succeeded' FROM operation`,
    );
    await rig.asOwner(
      `INSERT INTO contact_state (person_key, destination, owner_key, contact_ref, updated_at)
       SELECT md5(n::text), 'rig', CASE WHEN n % 10 = 0 THEN n::text END, n::text, clock_now() FROM generate_series(1, ${manyRows}) AS n`,
    );
    for (const table of ['delivery', 'operation', 'attempt', 'contact_state']) await rig.analyze(table);
  }, fillLimitMs);
  afterAll(() => rig.close());

  /** One row per destination, however many leads: to read it whole is right. */
  const small = 'destination_state';
  const scanned = (plans: ReadonlyMap<string, PlanNode>) =>
    [...plans].flatMap(([name, plan]) =>
      nodesOf(plan).flatMap(({ 'Node Type': type, 'Relation Name': relation = small }) =>
        type === 'Seq Scan' && relation !== small ? [`${name}: ${relation}`] : [],
      ),
    );
  const indexes = (plans: ReadonlyMap<string, PlanNode>, name: string) =>
    nodesOf(plans.get(name) as PlanNode).flatMap((node) => node['Index Name'] ?? []);

  it('sweeps by partial indexes alone', async () => {
    const ids: RowOptions[] = [
      { state: 'in_flight', leaseInMs: -1 },
      { dueInMs: -60_000 },
      { deadlineInMs: -1 },
      { state: 'held' },
      { destination: 'held', dueInMs: 1_000 },
      { destination: 'held', state: 'held' },
    ];
    for (const options of ids) await insertDelivery(rig.db, options);
    const database = explaining();
    const target = sweptTarget();
    await sweeperOf(database.asDatabase(), target, {
      target: (destination) => ({ ...target, name: destination }),
      standing: standing({ held: ['held'], probe: ['held'] }),
    }).sweep();
    expect([...database.plans.keys()]).toEqual(
      expect.arrayContaining([
        'sweep.expired',
        'sweep.deadline',
        'sweep.overdue',
        'sweep.queued',
        'sweep.held',
        'sweep.hold',
        'sweep.held_rows',
        'sweep.probe_rows',
        'sweep.count',
      ]),
    );
    expect(scanned(database.plans)).toEqual([]);
    expect(indexes(database.plans, 'sweep.expired')).toEqual(['delivery_open']);
    expect(indexes(database.plans, 'sweep.overdue')).toEqual(['delivery_open']);
    expect(indexes(database.plans, 'sweep.deadline')).toEqual(['delivery_deadline']);
  });

  it('verifies and claims by indexes alone', async () => {
    await insertDelivery(rig.db, { state: 'uncertain', dueInMs: -1 });
    const database = explaining();
    await verifierOf(database.asDatabase(), sweptTarget({ lookup: () => Promise.resolve({ kind: 'absent' }) })).verify();
    const claim = createClaim({ db: database.asDatabase(), logger: createLogger('rig', 'silent'), leaseMs: 30_000 });
    const [event] = newEvents(1);
    if (event === undefined) throw new Error('no event');
    const plan = {
      eventId: event.id,
      destination: 'rig',
      leadRef: event.ref,
      submittedAt: new Date(),
      deadlineAt: new Date(event.deadlineMs),
      operations: [{ kind: 'lead', operationKey: `${event.id}:rig:lead` }],
      needsVault: false,
      test: false,
      attempts: 4,
    };
    expect(await claim(received(event), event, plan)).toBe('claimed');
    expect([...database.plans.keys()]).toEqual(
      expect.arrayContaining(['verify.lease', 'settle.delivery', 'settle.operation', 'delivery.claim']),
    );
    expect(scanned(database.plans)).toEqual([]);
    expect(indexes(database.plans, 'verify.lease')).toContainEqual(expect.stringMatching(/^delivery_uncertain/));
  });

  it(
    'finds old rows by their id: no batch reads more than itself',
    async () => {
      const database = explaining();
      await rig.advance(41 * day);
      const purge = new Purge({ db: database.asDatabase(), logger: createLogger('rig', 'silent'), batch: 500, pauseMs: 0 });
      expect(await purge.purge()).toBeGreaterThanOrEqual(manyRows);
      expect(scanned(database.plans)).toEqual([]);
    },
    purgeLimitMs,
  );
});
