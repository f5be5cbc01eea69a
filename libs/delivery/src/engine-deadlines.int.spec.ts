import { describe, expect, it } from '@jest/globals';
import { operationKey } from '#contracts';
import { newEvents, type RigEvent, received, until } from '../../../test/support/delivery-rig.js';
import { deliveryWorld } from '../../../test/support/delivery-world.js';
import { statesRoute } from './states-route.js';

describe('the deadline of a delivery', () => {
  const world = deliveryWorld('deadlines');
  /** How it ended: with how many calls, how long after its deadline (negative: before it), and as which dead letters. */
  const endOf = async ({ id }: RigEvent) => {
    const [row] = await world.db.sql<{ state: string; late_ms: number }>(
      'rig.end',
      `SELECT state, (extract(epoch FROM updated_at - deadline_at) * 1000)::float8 AS late_ms FROM delivery WHERE event_id = $1`,
      [id],
    );
    const letters = (await world.outbox('dlq')).map(({ headers }) => [headers['ld-error-class'], headers['ld-operation-key']]);
    return { ...row, calls: world.crm.requests.length, letters, announced: await world.announced() };
  };
  const expired = async (event: RigEvent) => {
    await until('it has ended', async () => (await world.stateOf(event)) === 'expired');
    const { late_ms, ...end } = await endOf(event);
    expect(late_ms).toBeGreaterThanOrEqual(0);
    return end;
  };
  const throttled = (afterMs: number) => () => ({ kind: 'throttled' as const, code: 'http_429', afterMs });
  const codeOf = async ({ id }: RigEvent): Promise<string | null | undefined> =>
    (await world.db.sql<{ code: string | null }>('rig.code', 'SELECT code FROM delivery WHERE event_id = $1', [id]))[0]?.code;

  it('that has passed: the delivery expires without a call, and that is announced', async () => {
    const one = received(newEvents(1, -1_000)[0] as RigEvent);
    world.start().take([one]);
    await world.settled([one]);
    expect(await world.states()).toEqual({ expired: 1 });
    expect(world.crm.requests).toHaveLength(0);
    expect(await world.announced()).toEqual(['expired']);
    expect(await world.db.sql('rig.class', 'SELECT class, code FROM delivery', [])).toEqual([
      { class: 'deadline_exceeded', code: 'deadline' },
    ]);
  });

  it('that is near cuts the timeout of the call', async () => {
    const one = received(newEvents(1, 10_000)[0] as RigEvent);
    world.start({ timeoutMs: 20_000 }).take([one]);
    await world.settled([one]);
    expect(world.crm.requests[0]?.context.timeoutMs).toBeLessThanOrEqual(10_000);
  });

  it('is waited for where no call may be made before it', async () => {
    const [event] = newEvents(1, 1_500) as [RigEvent];
    world.crm.behave = throttled(600_000);
    world.start({ tiers: true }).take([received(event)]);
    await until('it has been throttled', async () => (await world.stateOf(event)) !== 'in_flight' && world.crm.requests.length === 1);
    expect(await world.stateOf(event)).toBe('waiting');
    expect(await expired(event)).toEqual({
      state: 'expired',
      calls: 1,
      letters: [['deadline_exceeded', operationKey(event.id, 'rig', 'lead')]],
      announced: ['expired'],
    });
  });

  it.each([
    ['all operations', ['contact', 'lead']],
    ['one operation', ['lead']],
  ])('ends a delivery of which the rows of %s are gone: nothing is sent of it any more, and it is called incomplete', async (_, lost) => {
    const [event] = newEvents(1, 4_000) as [RigEvent];
    world.crm.behave = (key, execute) => (key.endsWith('contact') ? { kind: 'succeeded', ref: execute() } : throttled(200)());
    world.start({ tiers: true, kinds: ['contact', 'lead'] }).take([received(event)]);
    await until('its lead waits', async () => (await world.stateOf(event)) === 'waiting');
    await world.db.sql('rig.lose', 'DELETE FROM operation WHERE event_id = $1 AND kind = ANY ($2)', [event.id, lost]);
    await until('it was claimed again', async () => (await codeOf(event)) === 'operations_gone');
    expect(await world.stateOf(event)).toBe('waiting');
    expect(await expired(event)).toEqual({
      state: 'expired',
      calls: 2,
      letters: [['deadline_exceeded', undefined]],
      announced: ['expired'],
    });
    const { items } = await statesRoute(world.db)({ items: [{ event_id: event.id }] });
    expect(items[0]?.deliveries).toMatchObject([{ state: 'expired', complete: false }]);
  });
});
