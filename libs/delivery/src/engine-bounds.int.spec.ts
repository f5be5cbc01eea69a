import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { newEvents, type RigEvent, received, until } from '../../../test/support/delivery-rig.js';
import { deliveryWorld } from '../../../test/support/delivery-world.js';

describe('what the delivery engine claims, and how long it may send it', () => {
  const world = deliveryWorld('bounds');
  const count = async (state: string): Promise<number> => (await world.states())[state] ?? 0;

  it('claims a batch ahead of what it sends, and no more', async () => {
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    world.crm.behave = async (_key, execute) => {
      await answered;
      return { kind: 'succeeded', ref: execute() };
    };
    const { take } = world.start({ concurrency: 4 });
    const all = newEvents(1_000).map((event) => received(event));
    take(all);
    await until('a batch waits behind the calls under way', async () => (await count('in_flight')) === 256 + 4);
    await delay(100);
    expect(await count('in_flight')).toBe(256 + 4);
    answer();
    await until('all are settled', () => all.every(({ receipt }) => receipt.settled));
    expect(await count('delivered')).toBe(1_000);
    expect(world.crm.records).toHaveLength(1_000);
  }, 30_000);

  it('sends no more at once than the destination takes now, and more as soon as it takes more', async () => {
    const answers: (() => void)[] = [];
    world.crm.behave = (_key, execute) => new Promise((resolve) => answers.push(() => resolve({ kind: 'succeeded', ref: execute() })));
    const { take, control } = world.start({ concurrency: 8 });
    control.concurrency = 2;
    control.turn('ramping');
    const all = newEvents(20).map((event) => received(event));
    take(all);
    await until('two calls are out', () => answers.length === 2);
    await delay(50);
    expect(answers).toHaveLength(2);
    control.concurrency = 5;
    control.turn('ramping');
    await until('five calls are out', () => answers.length === 5);
    const feed = setInterval(() => answers.splice(0).map((answer) => answer()), 5);
    await world.settled(all).finally(() => clearInterval(feed));
    expect(world.crm.maxInFlight).toBe(5);
  }, 30_000);

  it('does not send under a mark whose answer came too late', async () => {
    world.crm.native = false;
    let marks = 0;
    const { take, db: view } = world.start({ leaseMs: 1_000, timeoutMs: 700 });
    view.intercept = async (name, run) => {
      if (name === 'delivery.renew') throw new Error('no renewal');
      const rows = await run();
      if (name === 'operation.mark' && ++marks === 1) {
        await delay(400);
        expect(world.crm.requests).toHaveLength(0);
      }
      return rows;
    };
    const one = received(newEvents(1)[0] as RigEvent);
    take([one]);
    await until('it is delivered', async () => (await count('delivered')) === 1);
    expect(marks).toBe(2);
    expect(world.crm.records).toHaveLength(1);
  }, 30_000);
});
