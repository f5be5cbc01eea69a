import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger, DatabaseUnavailable } from '#runtime';
import { insertDelivery, openSweepRig, type SweepRig } from '../../../../test/support/sweep-rig.js';
import { CallTimes } from './call-times.js';
import { destinationFiguresRoute } from './destination-figures.js';

const logger = createLogger('delivery', 'silent');

describe('how destinations stand', () => {
  let rig: SweepRig;
  beforeAll(async () => {
    rig = await openSweepRig('call_times');
  });
  afterAll(() => rig.close());
  afterEach(async () => {
    await rig.clear();
    await rig.db.sql('spec.clear', 'DELETE FROM call_time', []);
  });
  const figures = async (nameOf = (destination: string) => destination) =>
    (await destinationFiguresRoute({ db: rig.db, nameOf, keepMs: 0 })()).items;

  it('adds up what all processes counted, by destination, phase and hour', async () => {
    const [one, other] = [new CallTimes({ db: rig.db, logger }), new CallTimes({ db: rig.db, logger })];
    for (let n = 0; n < 90; n += 1) one.of('crm')('total', 20);
    for (let n = 0; n < 10; n += 1) other.of('crm')('total', 2_000);
    other.of('crm')('connect', 3);
    other.of('chat')('total', 5);
    await Promise.all([one.flush(), other.flush()]);
    await one.flush();
    const items = await figures();
    const crm = items.find(({ destination }) => destination === 'crm');
    expect(crm?.latency.total).toMatchObject({ count: 100 });
    expect(Math.abs((crm?.latency.total?.p50 ?? 0) / 20 - 1)).toBeLessThan(0.05);
    expect(Math.abs((crm?.latency.total?.p95 ?? 0) / 2_000 - 1)).toBeLessThan(0.05);
    expect(crm?.latency.connect).toMatchObject({ count: 1 });
    expect(crm?.latency).not.toHaveProperty('first_byte');
    expect(crm?.by_hour).toMatchObject([{ count: 100, at: expect.stringMatching(/:00:00\.000Z$/), connect: { count: 1 } }]);
    expect(crm?.by_hour[0]).not.toHaveProperty('first_byte');
    expect(items.find(({ destination }) => destination === 'chat')?.latency).toMatchObject({ total: { count: 1 } });
  });

  it('leaves out hours that are more than a day old', async () => {
    await rig.db.sql(
      'spec.old',
      `INSERT INTO call_time SELECT date_trunc('hour', clock_now()) - interval '25 hours', 'crm', 'total', 40, 7`,
      [],
    );
    expect((await figures()).find(({ destination }) => destination === 'crm')).toBeUndefined();
  });

  it('keeps what could not be written, and writes it later', async () => {
    let away = true;
    const db: ConstructorParameters<typeof CallTimes>[0]['db'] = {
      sql: (name, text, values) => (away ? Promise.reject(new DatabaseUnavailable('ECONNREFUSED')) : rig.db.sql(name, text, values)),
    };
    const times = new CallTimes({ db, logger });
    times.of('crm')('total', 20);
    await expect(times.flush()).rejects.toThrow(DatabaseUnavailable);
    times.of('crm')('total', 20);
    away = false;
    await times.flush();
    await times.flush();
    expect((await figures())[0]?.latency.total).toMatchObject({ count: 2 });
  });

  it('counts what waits, is held or uncertain, and tells the oldest, under the name that the destination goes by', async () => {
    await rig.db.sql('spec.clear_states', 'DELETE FROM destination_state', []);
    for (const state of ['waiting', 'pending', 'held', 'uncertain', 'delivered', 'dead']) await insertDelivery(rig.db, { state });
    const [{ at } = { at: new Date() }] = await rig.db.sql<{ at: Date }>(
      'spec.oldest',
      `SELECT min(submitted_at) AS at FROM delivery WHERE state IN ('pending', 'waiting', 'held')`,
      [],
    );
    expect(await figures(() => 'by name')).toMatchObject([
      { destination: 'by name', waiting: 2, held: 1, uncertain: 1, oldest_at: at.toISOString() },
    ]);
  });

  it('gives whoever asks meanwhile the same answer, and asks anew after a failure', async () => {
    let asked = 0;
    let away = true;
    const db: Parameters<typeof destinationFiguresRoute>[0]['db'] = {
      sql: (name, text, values) => {
        asked += 1;
        return away ? Promise.reject(new DatabaseUnavailable('ECONNREFUSED')) : rig.db.sql(name, text, values);
      },
    };
    const route = destinationFiguresRoute({ db, nameOf: (name) => name, keepMs: 60_000 });
    await expect(route()).rejects.toThrow(DatabaseUnavailable);
    away = false;
    asked = 0;
    const [first, second] = await Promise.all([route(), route()]);
    expect(second).toBe(first);
    expect(asked).toBe(4);
  });
});
