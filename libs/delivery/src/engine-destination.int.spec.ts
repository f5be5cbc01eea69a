import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { newEvents, openControl, type RigEvent, received, until, wakeUps } from '../../../test/support/delivery-rig.js';
import { deliveryWorld } from '../../../test/support/delivery-world.js';
import { standing, sweeperOf, sweptTarget } from '../../../test/support/sweep-rig.js';
import type { Outcome } from './outcome.js';

const refused: Outcome = { kind: 'transient', code: 'econnrefused', provablyNotExecuted: true };

describe('the delivery engine and the state of its destination', () => {
  const world = deliveryWorld('destination_state');

  it('blocked: the group is paused, what was claimed is given back, nothing is sent and no attempt is used', async () => {
    const answers: (() => void)[] = [];
    world.crm.behave = (_key, execute) => new Promise((resolve) => answers.push(() => resolve({ kind: 'succeeded', ref: execute() })));
    const { take, control, paused } = world.start({ concurrency: 4 });
    const all = newEvents(40).map((event) => received(event));
    take(all);
    await until('four calls are out, the rest is claimed', async () => answers.length === 4 && (await world.states()).in_flight === 40);
    control.turn('blocked');
    expect(paused).toEqual(new Set(['destination']));
    await until('what was not sent is given back', async () => (await world.states()).pending === 36);
    for (const answer of answers.splice(0)) answer();
    await until('what was sent is recorded', async () => (await world.states()).delivered === 4);
    await delay(50);
    expect(world.crm.requests).toHaveLength(4);
    world.crm.behave = (_key, execute) => ({ kind: 'succeeded', ref: execute() });
    control.turn('flowing');
    expect(paused.size).toBe(0);
    await world.settled(all);
    expect(await world.states()).toEqual({ delivered: 40 });
    expect(world.crm.requests).toHaveLength(40);
    expect(await world.attempts()).toHaveLength(40);
  }, 30_000);

  it('of which nobody knows how it stands: the group is paused for that, as for a fault', async () => {
    const control = openControl();
    const { paused } = world.start({ control });
    control.turn('blocked', 'unknown');
    expect(paused).toEqual(new Set(['state']));
    control.turn('blocked', 'hold');
    expect(paused).toEqual(new Set(['destination']));
    control.turn('flowing');
    expect(paused.size).toBe(0);
  });

  it('blocked from the start: nothing is claimed; probing: one delivery at a time, each another, records come in', async () => {
    const control = openControl();
    control.turn('blocked');
    const { take, paused } = world.start({ control, concurrency: 8 });
    expect(paused).toEqual(new Set(['destination']));
    const all = newEvents(20).map((event) => received(event));
    take(all);
    await delay(50);
    expect(await world.states()).toEqual({});
    world.crm.behave = async (_key, execute) => {
      await delay(20);
      return { kind: 'succeeded', ref: execute() };
    };
    let probes = 0;
    let most = 0;
    control.onReport = () => {
      if (++probes !== 2) return;
      most = world.crm.maxInFlight;
      control.turn('ramping');
    };
    control.turn('probing');
    expect(paused.size).toBe(0);
    await until('two probes are answered', () => probes >= 2);
    expect(most).toBe(1);
    expect(new Set(world.crm.requests.slice(0, 2).map(({ key }) => key)).size).toBe(2);
    await world.settled(all);
    expect(world.crm.records).toHaveLength(20);
  }, 30_000);

  it('probed in vain: the lead waits without having used an attempt, and nothing else is sent', async () => {
    const control = openControl();
    control.turn('blocked');
    world.crm.behave = () => refused;
    control.onReport = () => control.turn('blocked');
    const { take, paused } = world.start({ control, attempts: 1 });
    const events = newEvents(5);
    const all = events.map((event) => received(event));
    take(all);
    control.turn('probing');
    await until('a probe has failed', async () => (await world.states()).waiting === 1);
    expect(paused).toEqual(new Set(['destination']));
    await delay(50);
    expect(world.crm.requests).toHaveLength(1);
    const event = events[all.findIndex(({ receipt }) => receipt.settled)] as RigEvent;
    expect(await world.operationsOf(event)).toMatchObject([{ state: 'waiting', attempts: 0, code: 'econnrefused' }]);
    expect(await world.attempts(event)).toHaveLength(1);
  });

  it('probing without admitting the call: it is asked again, slowly', async () => {
    const control = openControl();
    control.turn('probing');
    let asked = 0;
    control.admitting = () => {
      asked += 1;
      return { kind: 'blocked' };
    };
    world.start({ control }).take(newEvents(1).map((event) => received(event)));
    await until('it was asked twice', () => asked >= 2);
    await delay(300);
    expect(asked).toBeLessThan(5);
    expect(world.crm.requests).toHaveLength(0);
  });

  it('blocked between two operations: the first is kept, the second waits its turn', async () => {
    const [event] = newEvents(1) as [RigEvent];
    const control = openControl();
    control.onReport = () => control.turn('blocked');
    const one = received(event);
    world.start({ control, kinds: ['contact', 'lead'] }).take([one]);
    await world.settled([one]);
    expect(await world.operationsOf(event)).toMatchObject([
      { state: 'succeeded', attempts: 1 },
      { state: 'waiting', attempts: 0 },
    ]);
    expect(await world.stateOf(event)).toBe('waiting');
    expect(await world.outbox('main.rig.retry.15s')).toHaveLength(1);
  });

  it('without budget for retries: the retry waits without an attempt, first calls go on', async () => {
    world.crm.behave = (_key, execute, count) => (count === 1 ? refused : { kind: 'succeeded', ref: execute() });
    const { take, control } = world.start({ tiers: true, attempts: 2 });
    let denied = 0;
    control.admitting = ({ retry }) => {
      if (!retry || denied >= 3) return { kind: 'go' };
      denied += 1;
      return { kind: 'wait', reason: 'retry_budget', delayMs: 20 };
    };
    const [event] = newEvents(1) as [RigEvent];
    take([received(event)]);
    await until('it is delivered', async () => (await world.stateOf(event)) === 'delivered');
    expect(denied).toBe(3);
    expect(world.crm.requests).toHaveLength(2);
    expect(control.retries).toHaveLength(4);
  });

  it('with its quota used up: calls wait in hand, in order, and the bulkhead stands', async () => {
    const { take, control } = world.start({ concurrency: 3 });
    let tokens = 3;
    let refused = 0;
    const granted: string[] = [];
    control.admitting = ({ operationKey }) => {
      if (tokens > 0) {
        tokens--;
        granted.push(operationKey);
        return { kind: 'go' };
      }
      refused++;
      return { kind: 'wait', reason: 'quota', delayMs: 20 };
    };
    const all = newEvents(12).map((event) => received(event));
    take(all);
    for (let most = 3; most <= 12; most += 3) {
      await until('the quota is used up and asked again', () => world.crm.requests.length >= most && (refused > 0 || most === 12));
      expect(world.crm.requests).toHaveLength(most);
      expect(world.crm.requests.map(({ key }) => key)).toEqual(granted);
      [tokens, refused] = [3, 0];
    }
    await world.settled(all);
    expect(await world.states()).toEqual({ delivered: 12 });
    expect(world.crm.maxInFlight).toBeLessThanOrEqual(3);
    expect(world.crm.requests).toHaveLength(12);
    expect(await world.outbox('main.rig.retry.15s')).toHaveLength(0);
  });

  it('refusing all of us: no attempt is used, the lead waits; refusing this lead alone: it is dead with class auth', async () => {
    world.crm.behave = () => ({ kind: 'auth', code: 'http_401', status: 401 });
    const [all, alone] = newEvents(2) as [RigEvent, RigEvent];
    const { take, control } = world.start({ attempts: 1 });
    const first = received(all);
    take([first]);
    await world.settled([first]);
    expect(await world.operationsOf(all)).toMatchObject([{ state: 'waiting', attempts: 0, code: 'http_401' }]);
    control.scope = 'lead';
    const second = received(alone);
    take([second]);
    await world.settled([second]);
    expect(await world.operationsOf(alone)).toMatchObject([{ state: 'dead', attempts: 1, class: 'auth', code: 'http_401' }]);
    expect(control.reports.map(({ outcome }) => outcome.kind)).toEqual(['auth', 'auth']);
  });

  describe('blocked for long: what the engine keeps in hand follows its row', () => {
    const parked = async (deadlineInMs?: number) => {
      const answers: (() => void)[] = [];
      world.crm.behave = (_key, execute) => new Promise((resolve) => answers.push(() => resolve({ kind: 'succeeded', ref: execute() })));
      const process = world.start({ concurrency: 1, tiers: true });
      const events = newEvents(6, deadlineInMs);
      const all = events.map((event) => received(event));
      process.take(all);
      await until('one call is out, the rest is claimed', async () => answers.length === 1 && (await world.states()).in_flight === 6);
      process.control.turn('blocked');
      answers[0]?.();
      await until('five are given back', async () => {
        const { pending, delivered } = await world.states();
        return pending === 5 && delivered === 1;
      });
      world.crm.behave = (_key, execute) => ({ kind: 'succeeded', ref: execute() });
      return { process, all };
    };
    const sweep = (held: string[]) =>
      sweeperOf(world.db, sweptTarget({ nativeIdempotency: true }), { standing: standing({ held }), spreadMs: 100 }).sweep();

    it('held and released: every lead is delivered once, its record is not waited for', async () => {
      const { process, all } = await parked();
      await sweep(['rig']);
      expect(await world.states()).toEqual({ delivered: 1, held: 5 });
      process.control.turn('flowing');
      await world.settled(all);
      expect(await world.states()).toEqual({ delivered: 1, held: 5 });
      await sweep([]);
      process.take(await wakeUps(world.db));
      await until('all are delivered', async () => (await world.states()).delivered === 6);
      expect(world.crm.requests).toHaveLength(6);
    });

    it('expired meanwhile: nothing is sent of it when the destination is back', async () => {
      const { process, all } = await parked(1_500);
      await until('their deadline has passed', async () => {
        await sweep([]);
        return (await world.states()).expired === 5;
      });
      process.control.turn('flowing');
      await world.settled(all);
      expect(world.crm.requests).toHaveLength(1);
      expect(await world.outbox('dlq')).toHaveLength(5);
    });
  });
});
