import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { metricsText } from '#runtime';
import { newEvents, type RigEvent, type RigProcess, received, until } from '../../../test/support/delivery-rig.js';
import { deliveryWorld } from '../../../test/support/delivery-world.js';
import type { Outcome } from './outcome.js';
import type { Permit } from './permits/permit.js';
import type { ReplayGate, ReplayVerdict } from './permits/replay-gate.js';
import { closeItemsRoute } from './replays/replay-items-route.js';

const invalid: Outcome = {
  kind: 'permanent',
  class: 'permanent',
  code: 'bad_field',
  status: 422,
  requestHash: 'v1:old',
  mappingVersion: 1,
};

describe('an approved item', () => {
  const world = deliveryWorld('replays');
  const verdicts = new Map<string, ReplayVerdict>();
  const gate: ReplayGate = {
    admit: ({ headers }) => Promise.resolve(verdicts.get(String(headers['ld-replay-permit'])) ?? { kind: 'refused', code: 'no_permit' }),
  };

  const permitFor = (event: RigEvent, more: Partial<Permit> = {}): Permit => ({
    batchId: randomUUID(),
    itemId: randomUUID(),
    eventId: event.id,
    destination: 'rig',
    operationKeys: [`${event.id}:rig:lead`],
    notAfter: new Date(Date.now() + 60_000),
    deadlineAt: new Date(Date.now() + 7_200_000),
    ...more,
  });
  const replayed = (event: RigEvent, permit: Permit) => {
    const token = randomUUID();
    verdicts.set(token, { kind: 'item', permit });
    return received(event, { topic: 'main.rig.replay', headers: { 'ld-replay-permit': token } });
  };
  const rowOf = async (event: RigEvent) => {
    const [row] = await world.db.sql<{ replay_item: string | null; deadline_at: Date; original_deadline_at: Date | null }>(
      'rig.replay_row',
      'SELECT replay_item, deadline_at, original_deadline_at FROM delivery WHERE event_id = $1',
      [event.id],
    );
    return row;
  };
  const lockWaits = async (): Promise<number> => {
    const [row] = await world.db.sql<{ waiting: number }>(
      'rig.lock_waits',
      'SELECT count(*)::int AS waiting FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = current_database()',
      [],
    );
    return row?.waiting ?? 0;
  };
  /** A delivery that died of its first call, and a destination that takes it from now on. */
  const dead = async (process: RigProcess): Promise<RigEvent> => {
    const [event] = newEvents(1) as [RigEvent];
    world.crm.behave = () => invalid;
    const one = received(event);
    process.take([one]);
    await world.settled([one]);
    expect(await world.stateOf(event)).toBe('dead');
    world.crm.behave = (_key, execute) => ({ kind: 'succeeded', ref: execute() });
    return event;
  };

  it('is delivered under the same key by a new deadline; the old one stays beside it, and it is announced again', async () => {
    const process = world.start({ replays: gate });
    const event = await dead(process);
    const permit = permitFor(event);
    const one = replayed(event, permit);
    process.take([one]);
    await world.settled([one]);
    expect(await world.stateOf(event)).toBe('delivered');
    expect(world.crm.requests.map(({ key }) => key)).toEqual([`${event.id}:rig:lead`, `${event.id}:rig:lead`]);
    expect(await rowOf(event)).toEqual({
      replay_item: permit.itemId,
      deadline_at: permit.deadlineAt,
      original_deadline_at: new Date(event.deadlineMs),
    });
    expect(await world.announced()).toEqual(['dead', 'delivered']);
    expect(world.crm.requests[1]?.context.pinned).toEqual({ requestHash: 'v1:old', mappingVersion: 1 });
    expect(await world.operationsOf(event)).toMatchObject([{ attempts: 2 }]);
  });

  it('has an allowance of attempts of its own, and may be approved again when that is used up', async () => {
    const process = world.start({ replays: gate, attempts: 2, tiers: true });
    const event = await dead(process);
    world.crm.behave = () => ({ kind: 'transient', code: 'econnrefused', provablyNotExecuted: true });
    process.take([replayed(event, permitFor(event))]);
    await until('its attempts are used up', async () => world.crm.requests.length === 3 && (await world.stateOf(event)) === 'dead');
    world.crm.behave = (_key, execute) => ({ kind: 'succeeded', ref: execute() });
    const again = permitFor(event);
    process.take([replayed(event, again)]);
    await until('it is delivered', async () => (await world.stateOf(event)) === 'delivered');
    expect((await rowOf(event))?.original_deadline_at).toEqual(new Date(event.deadlineMs));
    expect(await world.outbox('dlq')).toHaveLength(2);
  });

  it('applies once: its record read again, before or after its end, changes nothing', async () => {
    const process = world.start({ replays: gate });
    const event = await dead(process);
    world.crm.behave = () => invalid;
    const permit = permitFor(event);
    const first = [replayed(event, permit), replayed(event, permit)];
    process.take(first);
    await world.settled(first);
    expect(world.crm.requests).toHaveLength(2);
    const late = replayed(event, permit);
    process.take([late]);
    await world.settled([late]);
    expect(await world.stateOf(event)).toBe('dead');
    expect(world.crm.requests).toHaveLength(2);
  });

  it('may be made by another mapping where the permit says so', async () => {
    const process = world.start({ replays: gate });
    const event = await dead(process);
    const one = replayed(event, permitFor(event, { mappingVersion: 2 }));
    process.take([one]);
    await world.settled([one]);
    expect(world.crm.requests[1]?.context.pinned).toBeUndefined();
  });

  it.each<[string, (event: RigEvent) => Permit]>([
    ['of another lead', (event) => permitFor(event, { eventId: (newEvents(1)[0] as RigEvent).id })],
    ['of another destination', (event) => permitFor(event, { destination: 'other' })],
    ['that leaves an operation out', (event) => permitFor(event, { operationKeys: [] })],
    ['whose last moment has passed since it was admitted', (event) => permitFor(event, { notAfter: new Date(Date.now() - 1) })],
  ])('is refused with the permit %s', async (_name, permit) => {
    const process = world.start({ replays: gate });
    const event = await dead(process);
    const one = replayed(event, permit(event));
    process.take([one]);
    await world.settled([one]);
    expect(await world.stateOf(event)).toBe('dead');
    expect(world.crm.requests).toHaveLength(1);
  });

  it('is refused without a permit, and where nothing admits it', async () => {
    const event = await dead(world.start({ replays: gate }));
    for (const process of [world.start({ replays: gate }), world.start()]) {
      const one = received(event, { topic: 'main.rig.replay' });
      process.take([one]);
      await world.settled([one]);
    }
    expect(world.crm.requests).toHaveLength(1);
    const counted = await metricsText();
    for (const code of ['no_permit', 'no_replays'])
      expect(counted).toMatch(new RegExp(`^leads_replays_refused_total{.*code="${code}"} 1$`, 'm'));
  });

  it('that was closed meanwhile is not applied, also while its claim already waits for the row', async () => {
    const process = world.start({ replays: gate });
    const event = await dead(process);
    const permit = permitFor(event);
    const one = replayed(event, permit);
    const item = { item_id: permit.itemId, event_id: event.id, destination: 'rig' };
    await world.db.transaction(async (tx) => {
      await closeItemsRoute(tx)({ items: [item] });
      process.take([one]);
      await until('its claim waits for the row', async () => (await lockWaits()) > 0);
    });
    await world.settled([one]);
    expect(await world.stateOf(event)).toBe('dead');
    expect(world.crm.requests).toHaveLength(1);
    expect((await closeItemsRoute(world.db)({ items: [item] })).items).toMatchObject([{ applied: false, closed: true }]);
  });

  it('never creates a delivery, and touches none that has not failed', async () => {
    const process = world.start({ replays: gate });
    const [unknown, done] = newEvents(2) as [RigEvent, RigEvent];
    const first = received(done);
    process.take([first]);
    await world.settled([first]);
    const all = [replayed(unknown, permitFor(unknown)), replayed(done, permitFor(done))];
    process.take(all);
    await world.settled(all);
    expect(await world.stateOf(unknown)).toBeUndefined();
    expect(world.crm.requests).toHaveLength(1);
  });

  it('comes again while nobody can say whether its batch still runs', async () => {
    const process = world.start({ replays: gate });
    const event = await dead(process);
    const permit = permitFor(event);
    const one = replayed(event, permit);
    const token = String(one.receipt.record.headers['ld-replay-permit']);
    verdicts.set(token, { kind: 'later', delayMs: 20 });
    process.take([one]);
    await until('it was put off', () => one.receipt.redeliveries.length >= 2);
    expect(one.receipt.settled).toBe(false);
    verdicts.set(token, { kind: 'item', permit });
    await world.settled([one]);
    expect(await world.stateOf(event)).toBe('delivered');
  });

  it('waits until its destination takes everything and nothing live is left', async () => {
    const process = world.start({ replays: gate, concurrency: 2 });
    const event = await dead(process);
    const order: string[] = [];
    world.crm.behave = async (key, execute) => {
      order.push(key.slice(0, 36));
      await delay(5);
      return { kind: 'succeeded', ref: execute() };
    };
    process.control.turn('ramping');
    const item = replayed(event, permitFor(event));
    process.take([item]);
    await delay(50);
    expect(order).toEqual([]);
    process.control.turn('blocked');
    const live = newEvents(20).map((one) => received(one));
    process.take(live);
    process.control.turn('flowing');
    await world.settled([item, ...live]);
    expect(order.at(-1)).toBe(event.id);
  });

  it('claimed by a process that dies is woken like any other, and its record read again is dropped', async () => {
    const process = world.start({ replays: gate });
    const event = await dead(process);
    const first = world.start({ replays: gate, leaseMs: 300 });
    first.db.intercept = (name, run) => {
      if (name === 'delivery.record') first.kill();
      return first.db.dead ? new Promise(() => {}) : run();
    };
    const permit = permitFor(event);
    first.take([replayed(event, permit)]);
    await until('the first process is dead', () => first.db.dead);
    const again = replayed(event, permit);
    process.take([again]);
    await world.settled([again]);
    process.take(await world.sweptWakeUps(1));
    await until('it is delivered', async () => (await world.stateOf(event)) === 'delivered');
    expect(world.crm.records).toHaveLength(1);
  });
});
