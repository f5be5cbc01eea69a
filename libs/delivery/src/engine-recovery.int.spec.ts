import { describe, expect, it } from '@jest/globals';
import { newEvents, type RigEvent, type RigReceived, received, until } from '../../../test/support/delivery-rig.js';
import { deliveryWorld } from '../../../test/support/delivery-world.js';
import { insertDelivery } from '../../../test/support/sweep-rig.js';
import type { DestinationControl, DestinationPolicy } from './destination/control.js';
import type { Outcome } from './outcome.js';

const refused: Outcome = { kind: 'transient', code: 'connect_refused', provablyNotExecuted: true };
const unavailable: Outcome = { kind: 'transient', code: 'http_503', status: 503, provablyNotExecuted: false };
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

  /** Two processes with a hundred leads, of which the destination refuses each `every`th. */
  async function refusing(every: number): Promise<void> {
    const [a, b] = await startBoth();
    const events = newEvents(100);
    const bad = new Set(events.filter((_, index) => index % every === 0).map(({ id }) => id));
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
    expect(await world.states()).toEqual(bad.size === all.length ? { dead: 100 } : { delivered: 50, dead: 50 });
    expect(pauses).toBe(0);
    expect(await world.outbox('dlq')).toHaveLength(bad.size);
  }

  it('leave the leads that it refuses to themselves: half of them bad, nothing is paused', () => refusing(2), 30_000);

  // Were a refusal a failure, half of them would still not open the breaker: all of them would.
  it('leave the leads that it refuses to themselves: all of them bad, nothing is paused', () => refusing(1), 30_000);
});

describe('a process that comes back to leads that failed before', () => {
  const world = deliveryWorld('left_over');
  const count = 200;
  /** A retry that finds no budget waits far longer than this test. */
  const patient = { ...policy, backoff: { baseMs: 600_000, capMs: 600_000 } };

  /** Rows that wait after one real failure each, due now, with their wake-ups. */
  async function leftOver(): Promise<RigReceived[]> {
    const events = newEvents(count);
    await Promise.all(events.map((event) => insertWaiting(event)));
    return events.map((event) => received(event, { topic: 'main.rig.retry.15s' }));
  }

  async function insertWaiting(event: RigEvent): Promise<void> {
    const id = await insertDelivery(world.db, {
      state: 'waiting',
      dueInMs: 0,
      operations: [{ kind: 'lead', state: 'waiting', attempts: 1 }],
    });
    event.id = id;
    await world.db.sql('rig.failed', `UPDATE operation SET code = 'http_503', class = NULL WHERE event_id = $1`, [id]);
  }

  /** Counts the calls that were put off for want of budget. */
  function counting(control: DestinationControl): { shared: DestinationControl; denied: () => number } {
    let denied = 0;
    const admit = control.admit.bind(control);
    control.admit = (call) => {
      const admission = admit(call);
      if (admission.kind === 'wait' && admission.reason === 'retry_budget') denied++;
      return admission;
    };
    return { shared: control, denied: () => denied };
  }

  it('delivers them all at once where their destination works, none waits for a budget', async () => {
    const records = await leftOver();
    const { shared, denied } = counting(await world.shared(patient));
    world.start({ shared, concurrency: patient.concurrency }).take(records);
    await until('all are delivered', async () => (await world.states()).delivered === count);
    expect(denied()).toBe(0);
    expect(world.crm.requests).toHaveLength(count);
    expect(await world.attempts()).toHaveLength(count);
  }, 60_000);

  it('sends few of them where every second call fails, and keeps the rest waiting without an attempt', async () => {
    const records = await leftOver();
    const { shared, denied } = counting(await world.shared(patient));
    let calls = 0;
    world.crm.behave = (_key, execute) => (calls++ % 2 ? unavailable : { kind: 'succeeded', ref: execute() });
    world.start({ shared, concurrency: patient.concurrency }).take(records);
    await world.settled(records);
    // Ten that are always allowed; what was in flight before ten answers were known may come on top.
    expect(world.crm.requests.length).toBeGreaterThanOrEqual(10);
    expect(world.crm.requests.length).toBeLessThanOrEqual(10 + patient.concurrency);
    expect(denied()).toBe(count - world.crm.requests.length);
    const waiting = await world.db.sql<{ attempts: number }>(
      'rig.denied',
      `SELECT o.attempts FROM delivery d JOIN operation o USING (event_id) WHERE d.state = 'waiting' AND d.code = 'retry_budget'`,
      [],
    );
    expect(waiting.map(({ attempts }) => attempts)).toEqual(Array<number>(denied()).fill(1));
  }, 60_000);
});
