import { describe, expect, it } from '@jest/globals';
import { createLogger, DatabaseUnavailable } from '#runtime';
import { newEvents, type RigEvent, received, until, wakeUps } from '../../../test/support/delivery-rig.js';
import { deliveryWorld } from '../../../test/support/delivery-world.js';

describe('the delivery engine on a real database', () => {
  const world = deliveryWorld('engine');

  describe('a delivery that goes well', () => {
    it('is called once, recorded with its reference and announced, and only then settled', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const one = received(event);
      const { take, db: view } = world.start();
      let settledAtRecord: boolean | undefined;
      view.intercept = (name, run) => {
        if (name === 'delivery.record') settledAtRecord = one.receipt.settled;
        return run();
      };
      take([one]);
      await world.settled([one]);
      expect(settledAtRecord).toBe(false);
      expect(await world.stateOf(event)).toBe('delivered');
      expect(await world.operationsOf(event)).toMatchObject([{ state: 'succeeded', destination_ref: 'R-1', attempts: 1 }]);
      expect(await world.attempts(event)).toMatchObject([{ outcome: 'succeeded', late: false, number: 1 }]);
      expect(await world.outbox('resolved')).toMatchObject([{ value: Buffer.from('delivered'), headers: { id: event.id } }]);
    });

    it('sends nothing for an event that is not the target’s, and settles it', async () => {
      const one = received({ ...(newEvents(1)[0] as RigEvent), ref: 'not-ours' });
      world.start().take([one]);
      await world.settled([one]);
      expect(world.crm.requests).toHaveLength(0);
    });

    it('performs its operations in their order and hands earlier references on', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const one = received(event);
      world.start({ kinds: ['contact', 'lead'] }).take([one]);
      await world.settled([one]);
      expect(world.crm.requests.map(({ key }) => key.split(':').at(-1))).toEqual(['contact', 'lead']);
      expect(world.crm.requests[1]?.context.refs).toEqual({ contact: 'R-1' });
      expect(await world.operationsOf(event)).toMatchObject([{ state: 'succeeded' }, { state: 'succeeded' }]);
    });

    it('goes on in the trace of its record, and announces within it', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const traceId = '0af7651916cd43dd8448eb211c80319c';
      const one = received(event, { traceparent: `00-${traceId}-b7ad6b7169203331-01` });
      world.start().take([one]);
      await world.settled([one]);
      expect(world.crm.requests[0]?.context.trace.traceId).toBe(traceId);
      expect((await world.outbox('resolved'))[0]?.headers.traceparent).toContain(traceId);
    });
  });

  describe('repeated records', () => {
    it('case 11: makes one call of one event that comes twice in one batch, and settles both', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const twins = [received(event), received(event)];
      world.start().take(twins);
      await world.settled(twins);
      expect(world.crm.requests).toHaveLength(1);
    });

    it('makes no call of a delivery that has ended', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const first = received(event);
      const { take } = world.start();
      take([first]);
      await world.settled([first]);
      const again = received(event);
      take([again]);
      await world.settled([again]);
      expect(world.crm.requests).toHaveLength(1);
      expect(await world.outbox('resolved')).toHaveLength(1);
    });

    it('makes exactly one call each when two engines race for 300 events without native idempotency', async () => {
      world.crm.native = false;
      const events = newEvents(300);
      const [left, right] = [events.map((event) => received(event)), [...events].reverse().map((event) => received(event))];
      const [a, b] = [world.start(), world.start()];
      a.take(left);
      b.take(right);
      await world.settled([...left, ...right]);
      await until('all are delivered', async () => (await world.outbox('resolved')).length === 300);
      expect(world.crm.records).toHaveLength(300);
      expect(new Set(world.crm.records.map(({ key }) => key)).size).toBe(300);
    });

    it('does not claim a record whose assignment is over', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const one = received(event);
      one.receipt.stale = true;
      const { take } = world.start();
      take([one]);
      const fresh = received(newEvents(1)[0] as RigEvent);
      take([fresh]);
      await world.settled([fresh]);
      expect(await world.stateOf(event)).toBeUndefined();
    });

    it('finishes a claimed delivery whose assignment ends meanwhile; its next owner drops the record', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const one = received(event);
      let answer: () => void = () => {};
      world.crm.behave = (_key, execute) => new Promise((resolve) => (answer = () => resolve({ kind: 'succeeded', ref: execute() })));
      world.start().take([one]);
      await until('the call is out', () => world.crm.requests.length === 1);
      one.receipt.stale = true;
      const again = received(event);
      world.start().take([again]);
      await world.settled([again]);
      answer();
      await until('it is delivered', async () => (await world.stateOf(event)) === 'delivered');
      expect(world.crm.records).toHaveLength(1);
      expect(one.receipt.settled).toBe(false);
    });
  });

  describe('a process that dies', () => {
    it('after the answer and before the record, with native idempotency: the same call is repeated, one effect', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const first = world.start({ leaseMs: 300 });
      first.db.intercept = (name, run) => {
        if (name === 'delivery.record') first.kill();
        return first.db.dead ? new Promise(() => {}) : run();
      };
      first.take([received(event)]);
      await until('the first process is dead', () => first.db.dead);
      const woken = await world.sweptWakeUps(1);
      expect(await world.operationsOf(event)).toMatchObject([{ state: 'pending', attempts: 0 }]);
      world.start().take(woken);
      await world.settled(woken);
      expect(await world.stateOf(event)).toBe('delivered');
      expect(world.crm.requests).toHaveLength(2);
      expect(world.crm.requests[0]?.attemptId).not.toBe(world.crm.requests[1]?.attemptId);
      expect(world.crm.records).toHaveLength(1);
      expect((await world.attempts(event)).map(({ outcome }) => outcome)).toEqual(['lease_expired', 'succeeded']);
      expect(await world.outbox('resolved')).toHaveLength(1);
    });

    it('after the answer, without native idempotency: uncertain, never sent again, not announced', async () => {
      world.crm.native = false;
      const [event] = newEvents(1) as [RigEvent];
      const first = world.start({ leaseMs: 300 });
      first.db.intercept = (name, run) => {
        if (name === 'delivery.record') first.kill();
        return first.db.dead ? new Promise(() => {}) : run();
      };
      first.take([received(event)]);
      await until('it is uncertain', async () => {
        await world.sweep();
        return (await world.stateOf(event)) === 'uncertain';
      });
      expect(await wakeUps(world.db)).toHaveLength(0);
      const again = received(event);
      world.start().take([again]);
      await world.settled([again]);
      expect(world.crm.requests).toHaveLength(1);
      expect(await world.operationsOf(event)).toMatchObject([{ state: 'uncertain', attempts: 1 }]);
      expect(await world.outbox('resolved')).toHaveLength(0);
    });

    it('after its claim and before the mark, without native idempotency: provably not sent, so it is sent', async () => {
      world.crm.native = false;
      const [event] = newEvents(1) as [RigEvent];
      const first = world.start({ leaseMs: 300 });
      first.db.intercept = (name, run) => {
        if (name === 'operation.mark') first.kill();
        return first.db.dead ? new Promise(() => {}) : run();
      };
      first.take([received(event)]);
      await until('the first process is dead', () => first.db.dead);
      const woken = await world.sweptWakeUps(1);
      world.start().take(woken);
      await world.settled(woken);
      expect(await world.stateOf(event)).toBe('delivered');
      expect(world.crm.requests).toHaveLength(1);
      expect(await world.attempts(event)).toMatchObject([{ outcome: 'succeeded', late: false, number: 1 }]);
    });

    it('between two operations without native idempotency: only the missing one is sent', async () => {
      world.crm.native = false;
      const [event] = newEvents(1) as [RigEvent];
      const first = world.start({ leaseMs: 300, kinds: ['contact', 'lead'] });
      let marks = 0;
      first.db.intercept = (name, run) => {
        if (name === 'operation.mark' && ++marks === 2) first.kill();
        return first.db.dead ? new Promise(() => {}) : run();
      };
      first.take([received(event)]);
      await until('the first process is dead', () => first.db.dead);
      expect(await world.operationsOf(event)).toMatchObject([{ state: 'succeeded' }, { state: 'in_flight' }]);
      const woken = await world.sweptWakeUps(1);
      world.start({ kinds: ['contact', 'lead'] }).take(woken);
      await world.settled(woken);
      expect(world.crm.requests.map(({ key }) => key.split(':').at(-1))).toEqual(['contact', 'lead']);
      expect(world.crm.requests[1]?.context.refs).toEqual({ contact: 'R-1' });
      expect(await world.stateOf(event)).toBe('delivered');
    });

    it('in the midst of 400 leads: none is lost and none has a second effect', async () => {
      const events = newEvents(400);
      const first = world.start({ leaseMs: 400 });
      let records = 0;
      first.db.intercept = async (name, run) => {
        const rows = await run();
        if (name === 'delivery.record' && ++records === 2) first.kill();
        return first.db.dead ? new Promise(() => {}) : rows;
      };
      const all = events.map((event) => received(event));
      first.take(all);
      await until('the first process is dead', () => first.db.dead);
      // What was not settled comes again to the next owner; what was claimed is woken.
      const second = world.start();
      const redelivered = all
        .filter(({ receipt }) => !receipt.settled)
        .map(({ result }) => received((result as { event: RigEvent }).event));
      expect(redelivered.length).toBeGreaterThan(0);
      second.take(redelivered);
      await world.settled(redelivered);
      await until('all are delivered', async () => {
        await world.sweep();
        second.take(await wakeUps(world.db));
        return (await world.outbox('resolved')).length === 400;
      });
      expect(world.crm.records).toHaveLength(400);
    });
  });

  describe('leases', () => {
    it('are renewed while a call is under way, so that nobody else takes the delivery', async () => {
      const [event] = newEvents(1) as [RigEvent];
      let answer: () => void = () => {};
      world.crm.behave = (_key, execute) => new Promise((resolve) => (answer = () => resolve({ kind: 'succeeded', ref: execute() })));
      const one = received(event);
      world.start({ leaseMs: 300 }).take([one]);
      await until('the call is out', () => world.crm.requests.length === 1);
      const end = performance.now() + 900;
      await until('three leases have passed', async () => {
        await world.sweep();
        return performance.now() > end;
      });
      expect(await wakeUps(world.db)).toHaveLength(0);
      answer();
      await world.settled([one]);
      expect(await world.attempts(event)).toMatchObject([{ outcome: 'succeeded', late: false, number: 1 }]);
    });

    it('that were lost leave a late answer: it is kept, and its reference counts when nobody else was called', async () => {
      const [event] = newEvents(1) as [RigEvent];
      let answer: () => void = () => {};
      world.crm.behave = (_key, execute) => new Promise((resolve) => (answer = () => resolve({ kind: 'succeeded', ref: execute() })));
      const one = received(event);
      const { take, db: view } = world.start({ leaseMs: 300 });
      view.intercept = (name, run) => (name === 'delivery.renew' ? Promise.reject(new DatabaseUnavailable('08006')) : run());
      take([one]);
      await until('the call is out', () => world.crm.requests.length === 1);
      await world.sweptWakeUps(1);
      answer();
      await world.settled([one]);
      expect(await world.stateOf(event)).toBe('delivered');
      expect(await world.operationsOf(event)).toMatchObject([{ state: 'succeeded', destination_ref: 'R-1' }]);
      expect(await world.attempts(event)).toMatchObject([
        { outcome: 'succeeded', late: true },
        { outcome: 'lease_expired', late: false },
      ]);
      expect(await world.outbox('resolved')).toHaveLength(1);
    });

    it('that ended uncertain: the late answer settles its operation, and the rest of the delivery is woken', async () => {
      world.crm.native = false;
      const [event] = newEvents(1) as [RigEvent];
      let answer: () => void = () => {};
      world.crm.behave = (key, execute) =>
        key.endsWith('lead')
          ? { kind: 'succeeded', ref: execute() }
          : new Promise((resolve) => (answer = () => resolve({ kind: 'succeeded', ref: execute() })));
      const one = received(event);
      const { take, db: view } = world.start({ leaseMs: 300, kinds: ['contact', 'lead'] });
      view.intercept = (name, run) => (name === 'delivery.renew' ? Promise.reject(new DatabaseUnavailable('08006')) : run());
      take([one]);
      await until('it is uncertain', async () => {
        await world.sweep();
        return (await world.stateOf(event)) === 'uncertain';
      });
      // Its owner was told meanwhile, which is over with the answer: should it be uncertain again, it is looked up and told anew.
      await world.db.sql('rig.raise', 'UPDATE delivery SET raised_at = clock_now()', []);
      answer();
      await until('it is woken', async () => (await world.stateOf(event)) === 'waiting');
      expect(await world.db.sql('rig.raised', 'SELECT raised_at FROM delivery', [])).toEqual([{ raised_at: null }]);
      const woken = await wakeUps(world.db);
      expect(woken).toHaveLength(1);
      world.start({ kinds: ['contact', 'lead'] }).take(woken);
      await world.settled(woken);
      expect(await world.stateOf(event)).toBe('delivered');
      expect(world.crm.requests.map(({ key }) => key.split(':').at(-1))).toEqual(['contact', 'lead']);
      expect(await world.outbox('resolved')).toHaveLength(1);
    });

    it('that another process took: the late answer changes nothing, its call is kept', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const answers: (() => void)[] = [];
      world.crm.behave = (_key, execute) => new Promise((resolve) => answers.push(() => resolve({ kind: 'succeeded', ref: execute() })));
      const first = world.start({ leaseMs: 300 });
      first.db.intercept = (name, run) => (name === 'delivery.renew' ? Promise.reject(new DatabaseUnavailable('08006')) : run());
      const one = received(event);
      first.take([one]);
      await until('the call is out', () => world.crm.requests.length === 1);
      const woken = await world.sweptWakeUps(1);
      world.start().take(woken);
      await until('the second call is out', () => world.crm.requests.length === 2);
      answers[0]?.();
      await world.settled([one]);
      expect(await world.stateOf(event)).toBe('in_flight');
      answers[1]?.();
      await world.settled(woken);
      expect(await world.stateOf(event)).toBe('delivered');
      expect(world.crm.records).toHaveLength(1);
      expect((await world.attempts(event)).filter(({ late }) => late)).toHaveLength(1);
      expect(await world.outbox('resolved')).toHaveLength(1);
    });

    it.each([
      ['late answer comes first', [0, 1]],
      ['late answer comes last', [1, 0]],
    ])('that another process took: a destination that made two records of one key is named, also where the %s', async (_, order) => {
      const [event] = newEvents(1) as [RigEvent];
      const lines: string[] = [];
      const logger = createLogger('rig', 'error', { write: (line) => void lines.push(line) });
      const answers: (() => void)[] = [];
      world.crm.behave = () =>
        new Promise((resolve) => {
          const ref = `R-${answers.length + 1}`;
          answers.push(() => resolve({ kind: 'succeeded', ref }));
        });
      const first = world.start({ leaseMs: 300, logger });
      first.db.intercept = (name, run) => (name === 'delivery.renew' ? Promise.reject(new DatabaseUnavailable('08006')) : run());
      const one = received(event);
      first.take([one]);
      await until('the call is out', () => world.crm.requests.length === 1);
      const woken = await world.sweptWakeUps(1);
      world.start({ logger }).take(woken);
      await until('the second call is out', () => world.crm.requests.length === 2);
      const records = [[one], woken];
      for (const index of order) {
        answers[index]?.();
        await world.settled(records[index] ?? []);
      }
      // What the claim brought that stood is kept.
      expect(await world.operationsOf(event)).toMatchObject([{ state: 'succeeded', destination_ref: 'R-2' }]);
      const second = lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ reason }) => reason === 'duplicate');
      expect(second).toMatchObject([{ level: 'error', event_id: event.id, destination: 'rig', operation_key: `${event.id}:rig:lead` }]);
    });
  });
});
