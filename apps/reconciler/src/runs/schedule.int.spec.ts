import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type Database, migrateService, newEventId, type Tx } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { openReconcilerDatabase } from '../../../../test/support/reconcile/open-tools.js';
import type { Finding } from '../compare/finding.js';
import { knownLeads, leadsSql } from '../discrepancies/known-leads.js';
import { settleDiscrepancies } from '../discrepancies/settle-discrepancies.js';
import { closeGone, closeGoneWindow, storeFindings } from '../discrepancies/store-findings.js';
import { migrations } from '../migrations/index.js';
import type { Judged } from './judged.js';
import { takeRuns } from './lease.js';
import { type Missed, readLooks, saveLooks } from './remembered.js';
import { databaseNowMs } from './run-row.js';
import { startDueRun, stopRun } from './start-run.js';

const hourMs = 3_600_000;

describe('the runs of a destination', () => {
  let database: TestDatabase;
  let db: Database;
  let owner: pg.Client;
  beforeAll(async () => {
    database = await testDatabase('schedule');
    await migrateService({ url: database.url, service: 'reconciler', migrations });
    db = await openReconcilerDatabase(database.url);
    owner = new pg.Client({ connectionString: database.url });
    await owner.connect();
  });
  afterAll(async () => {
    await owner?.end();
    await db?.close();
    await database?.drop();
  });
  beforeEach(async () => {
    for (const table of ['run', 'discrepancy', 'look']) await db.sql(`spec.clear_${table}`, `DELETE FROM ${table}`, []);
  });

  /** A run whose window ended so long ago. */
  const ran = async (hoursAgo: number, state: string, by = 'schedule'): Promise<string> => {
    const id = newEventId();
    const to = new Date(Date.now() - hoursAgo * hourMs);
    const sql = `INSERT INTO run (run_id, destination, from_at, to_at, state, by_whom, created_at) VALUES ($1, 'crm', $2, $2, $3, $4, $2)`;
    await db.sql('spec.ran', sql, [id, to, state, by]);
    return id;
  };
  /** How many hours ago the window of the run that is put down begins; undefined: none is. */
  const due = async (): Promise<number | undefined> => {
    const isDue = await startDueRun(db, 'crm', { everyMs: hourMs, windowMs: 24 * hourMs } as Parameters<typeof startDueRun>[2]);
    const [row] = await db.sql<{ from_at: Date }>('spec.due', `SELECT from_at FROM run WHERE state = 'waiting'`, []);
    return isDue && row ? Math.round((Date.now() - row.from_at.getTime()) / hourMs) : undefined;
  };

  it('look back over a window, and to where the last one that was finished ended', async () => {
    expect(await due()).toBe(24);
    expect(await due()).toBeUndefined();
  });

  it.each<[string, [number, string, string?][], number]>([
    ['goes on regularly', [[2, 'finished']], 24],
    ['has waited for a weekend', [[61, 'finished']], 61],
    [
      'has failed for a weekend',
      [
        [61, 'finished'],
        [30, 'failed'],
        [3, 'stopped'],
      ],
      61,
    ],
    [
      'was caught up since',
      [
        [61, 'finished'],
        [2, 'finished'],
      ],
      24,
    ],
    [
      'was asked for by a person',
      [
        [61, 'finished'],
        [2, 'finished', 'ada'],
      ],
      61,
    ],
  ])('leave no hole where the schedule %s', async (_what, runs, hours) => {
    for (const run of runs) await ran(...run);
    expect(await due()).toBe(hours);
  });

  it('are not taken any more once they are stopped, also in the same moment', async () => {
    const id = await ran(0, 'waiting');
    let taken: Promise<unknown[]> = Promise.resolve([]);
    await db.transaction(async (tx) => {
      await stopRun(tx as never, { run_id: id, by: 'bob' });
      taken = db.transaction((other) => takeRuns(other, 1_000));
      await delay(100);
    });
    expect(await taken).toEqual([]);
    expect(await db.sql('spec.state', 'SELECT state, lease_owner FROM run', [])).toEqual([{ state: 'stopped', lease_owner: null }]);
  });

  const finding = (more: Partial<Finding> = {}): Finding => ({
    class: 'missing',
    kind: 'lead',
    eventId: newEventId(),
    organization: 'demo',
    evidence: {},
    atMs: Date.now(),
    ...more,
  });
  const store = async (findings: Finding[], runId = newEventId()): Promise<void> => {
    await db.transaction((tx) => storeFindings(tx, findings, { destination: 'crm', runId, begunAt: new Date() }));
  };
  const rows = () =>
    db.sql<{ id: string; event_id: string; state: string }>(
      'spec.rows',
      'SELECT discrepancy_id AS id, event_id, state FROM discrepancy ORDER BY identity',
      [],
    );

  it('close of a lead only what was decided, of each kind by itself', async () => {
    const [eventId, other, erased] = [newEventId(), newEventId(), newEventId()];
    await store([
      finding({ eventId }),
      finding({ eventId, class: 'content_conflict', aspect: 'value' }),
      finding({ eventId, class: 'content_conflict', aspect: 'status' }),
      finding({ eventId: other }),
      finding({ eventId: erased, class: 'told_nobody', kind: undefined }),
    ]);
    const judged: Judged[] = [
      { eventId, kind: 'lead', names: ['content_conflict/status'] },
      { eventId, kind: 'contact', names: ['missing'] },
      { eventId, names: ['told_nobody'] },
      { eventId: erased },
    ];
    const classes = ['missing', 'content_conflict', 'told_nobody'] as const;
    await db.transaction((tx) => closeGone(tx, { destination: 'crm', runId: newEventId(), judged, classes }));
    const gone = await db.sql<{ name: string }>(
      'spec.gone',
      `SELECT class || coalesce(aspect, '') AS name FROM discrepancy WHERE state = 'gone'`,
      [],
    );
    expect(gone.map(({ name }) => name).sort()).toEqual(['content_conflictstatus', 'told_nobody']);
  });

  it('close of a window only the kind whose changes were read', async () => {
    await store([finding({ class: 'orphan', ref: 'R-1' }), finding({ class: 'orphan', ref: 'C-1', kind: 'deal' })]);
    const window = { from: new Date(Date.now() - hourMs), to: new Date(Date.now() + hourMs) };
    const asked = { destination: 'crm', runId: newEventId(), kind: 'lead', ...window, classes: ['orphan'] as const };
    await db.transaction((tx) => closeGoneWindow(tx, asked));
    expect((await rows()).map(({ state }) => state).sort()).toEqual(['gone', 'open']);
  });

  it('look again at what is open, whenever it was submitted, a page at a time', async () => {
    const findings = Array.from({ length: 5 }, () => finding({ atMs: 0 }));
    await store([...findings, ...findings.map(({ eventId }) => finding({ eventId, class: 'duplicate', ref: eventId }))]);
    await store([finding({ class: 'orphan', ref: 'R-9' }), finding({ class: 'relationship', aspect: 'told_late' })]);
    const runId = newEventId();
    await store([finding()], runId);
    const [repaired] = await rows();
    await db.sql(
      'spec.repaired',
      `UPDATE discrepancy SET state = 'repaired', changed_at = clock_now() - interval '2 days' WHERE event_id = $1`,
      [repaired?.event_id],
    );
    const asked = { destination: 'crm', runId, classes: ['missing', 'duplicate', 'relationship'] as const, begunAt: new Date(), limit: 3 };
    const read = async (repairedFrom: Date): Promise<string[]> => {
      const first = await knownLeads(db, { ...asked, repairedFrom });
      return [...first, ...(await knownLeads(db, { ...asked, repairedFrom, after: first.at(-1) }))];
    };
    const all = findings.map(({ eventId }) => eventId).sort();
    expect(await read(new Date(Date.now() - 72 * hourMs))).toEqual(all);
    expect(await read(new Date(Date.now() - hourMs))).toEqual(all.filter((id) => id !== repaired?.event_id));
  });

  it('look again at what was missed before they began, until it was found or a person has accepted that it is missing', async () => {
    const [missed, found, accepted, again] = Array.from({ length: 4 }, () => newEventId()) as [string, string, string, string];
    const kind = 'lead';
    const look = (looks: { missed?: Missed[]; found?: Missed[] }, known: [string, number][] = []) =>
      db.transaction((tx) => saveLooks(tx, 'crm', { missed: [], found: [], known: new Map(known), ...looks }));
    await look({ missed: [missed, found, accepted, again].map((eventId) => ({ kind, eventId })) });
    const begunAt = new Date((await databaseNowMs(db)) + 1);
    await look({ missed: [{ kind, eventId: newEventId() }] });
    await db.sql('spec.later', 'UPDATE look SET missed_at = missed_at + $2 WHERE event_id <> ALL ($1::uuid[])', [
      [missed, found, accepted, again],
      '1 minute',
    ]);
    await look({ found: [{ kind, eventId: found }] }, [[`lead ${found}`, 0]]);
    await store([finding({ eventId: accepted })]);
    const [row] = await rows();
    await settleDiscrepancies(db, { items: [{ discrepancy_id: row?.id ?? '', state: 'accepted', by: 'bob', reason: 'withdrawn' }] });
    const runId = newEventId();
    await store([finding({ eventId: again })], runId);
    const asked = { destination: 'crm', runId, classes: ['missing'] as const, repairedFrom: new Date(), begunAt, limit: 10 };
    expect(await knownLeads(db, asked)).toEqual([missed]);
    expect(await knownLeads(db, { ...asked, destination: 'other' })).toEqual([]);
  });

  it('read a page of what is known by an index on either side, and no more than the page', async () => {
    const each = 'FROM generate_series(1, 2000) AS n';
    await db.sql('spec.looks', `INSERT INTO look SELECT 'crm', 'lead', gen_random_uuid(), clock_now() - interval '1 day' ${each}`, []);
    await db.sql(
      'spec.open',
      `INSERT INTO discrepancy (identity, destination, event_id, class, fields, evidence, urgency, owner, state, at, first_run_id, last_run_id,
        first_seen_at, last_seen_at, changed_at)
      SELECT 'many' || n, 'crm', gen_random_uuid(), 'missing', '{}', '{}', 'today', 'ada', 'open', clock_now(), gen_random_uuid(), gen_random_uuid(),
        clock_now(), clock_now(), clock_now() ${each}`,
      [],
    );
    for (const table of ['look', 'discrepancy']) await owner.query(`ANALYZE reconciler.${table}`);
    const values = ['crm', new Date(), ['missing'], newEventId(), '00000000-0000-0000-0000-000000000000', 10, new Date()];
    const plan = await db.sql<{ 'QUERY PLAN': string }>('spec.plan', `EXPLAIN (ANALYZE, TIMING OFF) ${leadsSql}`, values);
    const text = plan.map((row) => row['QUERY PLAN']).join('\n');
    expect(text).toContain('using discrepancy_lead ');
    expect(text).toContain('using look_event ');
    const read = [...text.matchAll(/using (?:discrepancy_lead|look_event) .*actual rows=([\d.]+)/g)].map(([, rows]) => Number(rows));
    expect(read).toHaveLength(2);
    expect(Math.max(...read)).toBeLessThan(100);
  });

  it('begin to miss anew what was written since it was missed', async () => {
    const eventId = newEventId();
    const missed = (recordedMs: number, known: ReadonlyMap<string, number> = new Map()) =>
      db.transaction((tx) => saveLooks(tx, 'crm', { missed: [{ kind: 'lead', eventId, recordedMs }], found: [], known }));
    const looks = () => readLooks(db, 'crm', [eventId]);
    await missed(0);
    const first = await looks();
    await db.sql('spec.earlier', `UPDATE look SET missed_at = missed_at - interval '1 hour'`, []);
    const earlier = await looks();
    await missed(0, earlier);
    expect(await looks()).toEqual(earlier);
    await missed((earlier.get(`lead ${eventId}`) ?? 0) + 1, earlier);
    expect((await looks()).get(`lead ${eventId}`)).toBeGreaterThanOrEqual(first.get(`lead ${eventId}`) ?? 0);
  });

  it('do not wait for a person who settles in another order', async () => {
    await store([finding({ eventId: newEventId(1) }), finding({ eventId: newEventId(2) })]);
    const [first, second] = await rows();
    const lock = (tx: Tx, id: string | undefined) =>
      tx.sql('spec.lock', 'SELECT FROM discrepancy WHERE discrepancy_id = $1 FOR UPDATE', [id]);
    let settled: Promise<{ items: unknown[] }> = Promise.resolve({ items: [] });
    await db.transaction(async (tx) => {
      await lock(tx, first?.id);
      const items = [second, first].map((row) => ({ discrepancy_id: row?.id ?? '', state: 'accepted' as const, by: 'bob' }));
      settled = settleDiscrepancies(db, { items });
      await delay(100);
      await lock(tx, second?.id);
    });
    expect((await settled).items).toMatchObject([
      { discrepancy_id: second?.id, settled: true },
      { discrepancy_id: first?.id, settled: true },
    ]);
  });
});
