import { describe, expect, it } from '@jest/globals';
import { DatabaseUnavailable } from '#runtime';
import {
  newEvents,
  type RigEvent,
  type RigProcess,
  type RigReceived,
  received,
  until,
  wakeUps,
} from '../../../test/support/delivery-rig.js';
import { deliveryWorld } from '../../../test/support/delivery-world.js';
import { insertDelivery, sweeperOf, sweptTarget } from '../../../test/support/sweep-rig.js';

/** A lead whose call kills the process that makes it. */
describe('a lead that kills its process', () => {
  const world = deliveryWorld('losses');
  const leaseMs = 300;
  /** As the policy of the rig's target has it. */
  const attempts = 4;
  let current: RigProcess | undefined;

  /** Whatever is claimed waits for its turn behind the poison, which comes first. */
  const poisonedBy = (poison: RigEvent): void => {
    world.crm.behave = (key, execute) => {
      if (!key.startsWith(poison.id)) return { kind: 'succeeded', ref: execute() };
      current?.kill();
      return new Promise(() => {});
    };
  };
  const inFlight = async (): Promise<number> => (await world.states()).in_flight ?? 0;

  /** One life of a process, and the wake-ups that it leaves behind once the sweeper has found out, due at once. */
  async function lifeOf(process: RigProcess, records: readonly RigReceived[]): Promise<RigReceived[]> {
    current = process;
    process.take(records);
    await until('the process is dead', () => process.db.dead);
    await until('its leases were found', async () => {
      await world.sweep();
      return (await inFlight()) === 0;
    });
    await world.db.sql('rig.due', `UPDATE delivery SET next_attempt_at = clock_now() WHERE state = 'pending'`, []);
    return wakeUps(world.db);
  }
  const live = (records: readonly RigReceived[]) => lifeOf(world.start({ leaseMs, concurrency: 1, attempts }), records);

  /** The poison first, as a topic would hand it out. */
  const inOrder = (records: readonly RigReceived[], poison: RigEvent): RigReceived[] =>
    records.toSorted((a, b) => Number(idOf(b) === poison.id) - Number(idOf(a) === poison.id));
  const idOf = ({ result }: RigReceived): string | undefined => (result.ok ? result.event.id : undefined);

  it('ends after its attempts, and none of the leads that were only claimed with it does, however often', async () => {
    const [poison, ...good] = newEvents(31) as [RigEvent, ...RigEvent[]];
    poisonedBy(poison);
    let records = [poison, ...good].map((event) => received(event));
    let lives = 0;
    for (; (await world.stateOf(poison)) !== 'dead'; lives++) {
      expect(lives).toBeLessThan(20);
      records = inOrder(await live(records), poison);
    }
    expect(lives).toBe(attempts + 1);
    expect(await world.states()).toEqual({ pending: 30, dead: 1 });
    expect(world.crm.requests.every(({ key }) => key.startsWith(poison.id))).toBe(true);
    expect(world.crm.requests).toHaveLength(attempts + 1);
    expect(await world.operationsOf(poison)).toMatchObject([
      { state: 'dead', attempts, class: 'attempts_exhausted', code: 'lease_expired' },
    ]);
    world.start({ attempts }).take(records);
    await until('the others are delivered', async () => (await world.states()).delivered === 30);
    expect(world.crm.records).toHaveLength(30);
    expect(world.crm.requests).toHaveLength(attempts + 1 + 30);
    expect(await world.outbox('dlq')).toHaveLength(1);
  }, 60_000);

  it('alone ends the same way', async () => {
    const [poison] = newEvents(1) as [RigEvent];
    poisonedBy(poison);
    let records = [received(poison)];
    let lives = 0;
    for (; records.length > 0; lives++) records = await live(records);
    expect(lives).toBe(attempts + 1);
    expect(await world.states()).toEqual({ dead: 1 });
    expect(await world.announced()).toEqual(['dead']);
    expect((await world.attempts(poison)).map(({ outcome }) => outcome)).toEqual(Array<string>(attempts + 1).fill('lease_expired'));
  }, 60_000);

  it('is in doubt from its second death on where its call may be repeated without a key, and comes back no more', async () => {
    world.crm.native = false;
    const [poison, good] = newEvents(2) as [RigEvent, RigEvent];
    poisonedBy(poison);
    const lives: Record<string, number>[] = [];
    let records = [poison, good].map((event) => received(event));
    while ((await world.stateOf(poison)) !== 'uncertain') {
      expect(lives.length).toBeLessThan(4);
      records = inOrder(await lifeOf(world.start({ leaseMs, concurrency: 1, attempts, repeatable: true }), records), poison);
      lives.push(await world.states());
    }
    expect(lives).toEqual([{ pending: 2 }, { uncertain: 1, pending: 1 }]);
    expect(await world.operationsOf(poison)).toMatchObject([{ state: 'uncertain', attempts: 1, code: 'lease_expired' }]);
    expect(world.crm.requests).toHaveLength(2);
  }, 60_000);

  it('never ends what a process only ever claimed: it dies before its call, lost or not', async () => {
    const [event] = newEvents(1) as [RigEvent];
    let records = [received(event)];
    for (let lives = 0; lives < 2 * attempts; lives++) {
      const process = world.start({ leaseMs, attempts });
      process.db.intercept = async (name, run) => {
        // The first life dies at its call, since nothing is marked there; the others before their mark.
        if (name === 'operation.mark') process.kill();
        return process.db.dead ? new Promise(() => {}) : run();
      };
      world.crm.behave = () => {
        process.kill();
        return new Promise(() => {});
      };
      records = await lifeOf(process, records);
    }
    expect(await world.operationsOf(event)).toMatchObject([{ state: 'pending', attempts: 0 }]);
    world.crm.behave = (_key, execute) => ({ kind: 'succeeded', ref: execute() });
    world.start({ attempts }).take(records);
    await until('it is delivered', async () => (await world.stateOf(event)) === 'delivered');
    expect(await world.attempts(event)).toMatchObject([{ outcome: 'lease_expired' }, { outcome: 'succeeded', number: 1 }]);
  }, 60_000);
});

describe('an answer that comes after its delivery was given up', () => {
  const world = deliveryWorld('given_up');

  it('is announced as of now: later than the end that was announced meanwhile, though it was concluded before', async () => {
    const id = await insertDelivery(world.db, {
      state: 'pending',
      dueInMs: 0,
      operations: [{ kind: 'lead', state: 'pending', code: 'lease_expired' }],
    });
    const event: RigEvent = { ...(newEvents(1)[0] as RigEvent), id };
    const { take, db: view } = world.start({ leaseMs: 300, attempts: 1 });
    let concluded = false;
    let write: () => void = () => {};
    const swept = new Promise<void>((resolve) => (write = resolve));
    view.intercept = async (name, run) => {
      if (name === 'delivery.renew') throw new DatabaseUnavailable('08006');
      if (name !== 'delivery.record') return run();
      concluded = true;
      await swept;
      return run();
    };
    const one = received(event, { topic: 'main.rig.retry.15s' });
    take([one]);
    await until('its end is about to be written', () => concluded);
    await until('it is dead', async () => {
      await sweeperOf(world.db, sweptTarget({ nativeIdempotency: true, attempts: () => 1 })).sweep();
      return (await world.stateOf(event)) === 'dead';
    });
    write();
    await world.settled([one]);
    expect(await world.stateOf(event)).toBe('delivered');
    const announced = await world.db.sql<{ state: string; at: number }>(
      'rig.announced',
      `SELECT convert_from(value, 'UTF8') AS state, (headers ->> 'resolved_at')::float8 AS at FROM outbox WHERE topic = 'resolved' ORDER BY id`,
      [],
    );
    expect(announced.map(({ state }) => state)).toEqual(['dead', 'delivered']);
    expect(announced[1]?.at).toBeGreaterThan(announced[0]?.at ?? Number.POSITIVE_INFINITY);
  });
});
