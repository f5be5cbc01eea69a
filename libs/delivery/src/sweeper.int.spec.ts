import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type Database, metrics } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import {
  newEvents,
  newSweeper,
  openDeliveryDatabase,
  RigCrm,
  type RigEvent,
  received,
  startProcess,
  until,
} from '../../../test/support/delivery-rig.js';
import { statesRoute } from './states-route.js';
import { Sweeper } from './sweeper.js';

describe('the sweeper', () => {
  let database: TestDatabase;
  let owner: pg.Client;
  let db: Database;

  beforeAll(async () => {
    database = await testDatabase('sweeper');
    db = await openDeliveryDatabase(database.url);
    owner = new pg.Client({ connectionString: database.url });
    await owner.connect();
  });
  afterAll(async () => {
    await owner.end();
    await db.close();
    await database.drop();
  });
  afterEach(async () => {
    await advance(0);
    for (const table of ['delivery', 'operation', 'attempt', 'outbox']) await db.sql(`rig.clear.${table}`, `DELETE FROM ${table}`, []);
  });

  /** Sets the schema's clock this far ahead of the real one. */
  const advance = (ms: number) =>
    owner.query(`CREATE OR REPLACE FUNCTION crm_writer.clock_now() RETURNS timestamptz LANGUAGE sql VOLATILE
      AS $$ SELECT clock_timestamp() + interval '${ms} milliseconds' $$`);
  const wakeHeaders = (): Promise<{ headers: Record<string, string>; value: Buffer; key: Buffer }[]> =>
    db.sql('rig.wake_rows', `SELECT headers, value, key FROM outbox WHERE topic = 'wake' ORDER BY id`, []);
  const waitingDelivery = async (): Promise<RigEvent> => {
    const crm = new RigCrm();
    crm.behave = () => ({ kind: 'throttled', code: 'http_429', afterMs: 300_000 });
    const process = startProcess({ db, crm });
    const [event] = newEvents(1) as [RigEvent];
    const one = received(event, '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01');
    process.take([one]);
    await until('it is recorded', () => one.receipt.settled);
    await process.engine.stop(100);
    return event;
  };

  it('wakes nothing that is not overdue', async () => {
    await waitingDelivery();
    await advance(290_000);
    await newSweeper(db, true).sweep();
    expect(await wakeHeaders()).toHaveLength(0);
  });

  it('wakes an overdue delivery with its own bytes and trace, once a minute at most', async () => {
    const event = await waitingDelivery();
    await advance(320_000);
    await newSweeper(db, true).sweep();
    await newSweeper(db, true).sweep();
    const [first, ...more] = await wakeHeaders();
    expect(more).toHaveLength(0);
    expect(JSON.parse(String(first?.value))).toEqual(event);
    expect(String(first?.key)).toBe(event.ref);
    expect(first?.headers).toMatchObject({
      'ld-event-id': event.id,
      'ld-destinations': 'rig',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    });
    expect(Number(first?.headers['ld-not-before'])).toBeGreaterThan(Date.now() + 300_000);
    await advance(370_000);
    await newSweeper(db, true).sweep();
    expect(await wakeHeaders()).toHaveLength(1);
    await advance(390_000);
    await newSweeper(db, true).sweep();
    expect(await wakeHeaders()).toHaveLength(2);
  });

  it('lets one process sweep at a time', async () => {
    await waitingDelivery();
    await advance(320_000);
    await Promise.all(Array.from({ length: 6 }, () => newSweeper(db, true).sweep()));
    expect(await wakeHeaders()).toHaveLength(1);
  });

  it('leaves rows of destinations that are not configured alone', async () => {
    await waitingDelivery();
    await advance(320_000);
    const lines: unknown[] = [];
    const logger = { warn: (fields: unknown) => lines.push(fields) } as never;
    await new Sweeper({ db, target: () => undefined, relayWake: () => {}, logger }).sweep();
    expect(await wakeHeaders()).toHaveLength(0);
    expect(lines).toEqual([{ destinations: ['rig'] }]);
  });

  it('finds the rows of a destination behind more than a batch of others that are not configured', async () => {
    const crm = new RigCrm();
    crm.behave = () => new Promise(() => {});
    const process = startProcess({ db, crm, concurrency: 500 });
    const all = newEvents(250).map((event) => received(event));
    process.take(all);
    await until('all are out', () => crm.requests.length === 250);
    process.kill();
    const [last] = all.slice(-1);
    await db.sql('rig.gone', `UPDATE delivery SET destination = 'gone', lease_until = lease_until - interval '1 s' WHERE lead_ref <> $1`, [
      last?.receipt.record.key?.toString(),
    ]);
    await advance(31_000);
    const sweeper = new Sweeper({
      db,
      target: (name) => (name === 'gone' ? undefined : { name, nativeIdempotency: true, wakeTopic: 'wake' }),
      relayWake: () => {},
      logger: { warn: () => {} } as never,
    });
    while (await sweeper.sweep());
    expect(await wakeHeaders()).toMatchObject([{ headers: { 'ld-destinations': 'rig' } }]);
  });

  it('counts unfinished deliveries by state', async () => {
    await waitingDelivery();
    await newSweeper(db, true).sweep();
    const { values } = await metrics.deliveries.get();
    expect(values).toMatchObject([{ value: 1, labels: { destination: 'rig', state: 'waiting' } }]);
  });

  it('wakes hundreds of claims of a dead process in one run, each once', async () => {
    const crm = new RigCrm();
    crm.behave = () => new Promise(() => {});
    const process = startProcess({ db, crm, concurrency: 500 });
    const all = newEvents(450).map((event) => received(event));
    process.take(all);
    await until('all are out', () => crm.requests.length === 450);
    process.kill();
    await advance(31_000);
    const sweeper = newSweeper(db, true);
    while (await sweeper.sweep());
    const woken = await wakeHeaders();
    expect(new Set(woken.map(({ headers }) => headers['ld-event-id'])).size).toBe(450);
    expect(woken).toHaveLength(450);
  });

  describe('the states route', () => {
    it('answers in the order asked, by event and destination, and names nothing for what was not claimed', async () => {
      const event = await waitingDelivery();
      const [unknown] = newEvents(1) as [RigEvent];
      const answer = await statesRoute(db)({
        items: [{ event_id: unknown.id }, { event_id: event.id.toUpperCase() }, { event_id: event.id, destination: 'other' }],
      });
      expect(answer.items.map(({ event_id }) => event_id)).toEqual([unknown.id, event.id.toUpperCase(), event.id]);
      expect(answer.items[0]?.deliveries).toEqual([]);
      expect(answer.items[2]?.deliveries).toEqual([]);
      expect(answer.items[1]?.deliveries).toEqual([
        {
          destination: 'rig',
          state: 'waiting',
          class: undefined,
          code: 'http_429',
          as_of: expect.stringMatching(/^\d{4}-.*Z$/),
          operations: [{ kind: 'lead', state: 'waiting', ref: undefined, operation_key: `${event.id}:rig:lead`, attempts: 1 }],
        },
      ]);
    });
  });
});
