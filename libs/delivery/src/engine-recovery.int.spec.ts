import { describe, expect, it } from '@jest/globals';
import { newEvents, type RigEvent, received, until } from '../../../test/support/delivery-rig.js';
import { deliveryWorld } from '../../../test/support/delivery-world.js';
import type { DestinationPolicy } from './destination/control.js';
import type { Outcome } from './outcome.js';

const refused: Outcome = { kind: 'transient', code: 'connect_refused', provablyNotExecuted: true };
const policy: DestinationPolicy = {
  concurrency: 8,
  breaker: { window: 20, minimum: 5, ratio: 0.9, coolDownMs: 300, longestCoolDownMs: 600 },
  retryBudget: 0.2,
  backoff: { baseMs: 50, capMs: 100 },
};

describe('two processes whose destination goes away and comes back', () => {
  const world = deliveryWorld('recovery');
  const startBoth = async () => {
    const processes = [];
    for (const shared of [await world.shared(policy), await world.shared(policy)])
      processes.push(world.start({ shared, tiers: true, concurrency: 8, kinds: ['contact', 'lead'] }));
    return processes as [(typeof processes)[number], (typeof processes)[number]];
  };

  it('stop sending, probe, and deliver everything once; no attempt beyond the first few is spent on the outage', async () => {
    const [a, b] = await startBoth();
    let down = true;
    world.crm.behave = (_key, execute) => (down ? refused : { kind: 'succeeded', ref: execute() });
    const events = newEvents(120);
    const all = events.map((event) => received(event));
    a.take(all.slice(0, 60));
    b.take(all.slice(60));
    await until('both are paused', () => a.paused.has('destination') && b.paused.has('destination'));
    const before = world.crm.requests.length;
    expect(before).toBeLessThanOrEqual(2 * 2 * policy.concurrency);
    await until('it was probed', () => world.crm.requests.length >= before + 4);
    const probed = world.crm.requests.slice(before);
    expect(new Set(probed.map(({ key }) => key.slice(0, 36))).size).toBe(probed.length);
    down = false;
    await until('all are delivered', async () => (await world.states()).delivered === 120);
    expect(world.crm.records).toHaveLength(240);
    expect(world.crm.maxInFlight).toBeLessThanOrEqual(2 * policy.concurrency);
    expect(await world.announced()).toHaveLength(120);
    expect(await world.outbox('dlq')).toHaveLength(0);
    const [most] = await world.db.sql<{ attempts: number }>('rig.most', 'SELECT max(attempts) AS attempts FROM operation', []);
    expect(most?.attempts).toBeLessThanOrEqual(2);
  }, 60_000);

  it('leave the leads that it refuses to themselves: half of them bad, nothing is paused', async () => {
    const [a, b] = await startBoth();
    const events = newEvents(100);
    const bad = new Set(events.filter((_, index) => index % 2 === 0).map(({ id }) => id));
    world.crm.behave = (key, execute) =>
      bad.has(key.slice(0, 36))
        ? { kind: 'permanent', class: 'permanent', code: 'bad_field', status: 422 }
        : { kind: 'succeeded', ref: execute() };
    let pauses = 0;
    const all = events.map((event: RigEvent) => received(event));
    a.take(all.slice(0, 50));
    b.take(all.slice(50));
    await until('all have ended', () => {
      pauses += a.paused.size + b.paused.size;
      return all.every(({ receipt }) => receipt.settled);
    });
    expect(await world.states()).toEqual({ delivered: 50, dead: 50 });
    expect(pauses).toBe(0);
    expect(await world.outbox('dlq')).toHaveLength(50);
  }, 30_000);
});
