import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, DatabaseUnavailable } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import {
  newEvents,
  newSweeper,
  openDeliveryDatabase,
  RigCrm,
  type RigEvent,
  type RigProcess,
  type RigProcessOptions,
  received,
  startProcess,
  until,
  wakeUps,
} from '../../../test/support/delivery-rig.js';

interface OperationRow {
  operation_key: string;
  state: string;
  destination_ref: string | null;
  attempts: number;
  code: string | null;
  class: string | null;
}

describe('the delivery engine on a real database', () => {
  let database: TestDatabase;
  let db: Database;
  let crm: RigCrm;
  const processes: RigProcess[] = [];

  beforeAll(async () => {
    database = await testDatabase('engine');
    db = await openDeliveryDatabase(database.url);
  });
  afterAll(async () => {
    await db.close();
    await database.drop();
  });
  beforeEach(() => {
    crm = new RigCrm();
  });
  afterEach(async () => {
    const alive = processes.splice(0).filter(({ db: view }) => !view.dead);
    await Promise.all(alive.map(({ engine }) => engine.stop(1_000)));
    for (const table of ['delivery', 'operation', 'attempt', 'outbox']) await db.sql(`rig.clear.${table}`, `DELETE FROM ${table}`, []);
  });

  const start = (options: Partial<RigProcessOptions> = {}): RigProcess => {
    const process = startProcess({ db, crm, ...options });
    processes.push(process);
    return process;
  };
  const stateOf = async (event: RigEvent): Promise<string | undefined> => {
    const [row] = await db.sql<{ state: string }>('rig.state', 'SELECT state FROM delivery WHERE event_id = $1', [event.id]);
    return row?.state;
  };
  const operationsOf = (event: RigEvent): Promise<OperationRow[]> =>
    db.sql('rig.operations', 'SELECT * FROM operation WHERE event_id = $1 ORDER BY operation_key', [event.id]);
  const attemptsOf = (event: RigEvent): Promise<{ outcome: string; late: boolean; number: number }[]> =>
    db.sql('rig.attempts', `SELECT outcome, late, number FROM attempt WHERE operation_key LIKE $1 || '%' ORDER BY started_at`, [event.id]);
  const outbox = (topic: string): Promise<{ key: Buffer; value: Buffer; headers: Record<string, string> }[]> =>
    db.sql('rig.outbox', 'SELECT key, value, headers FROM outbox WHERE topic = $1', [topic]);
  const settled = (all: { receipt: { settled: boolean } }[]) =>
    until('all receipts are settled', () => all.every((one) => one.receipt.settled));
  /** Runs the sweeper until rows were woken, as leases run out in their time. */
  const sweptWakeUps = async (count: number, native = true) => {
    const woken: Awaited<ReturnType<typeof wakeUps>> = [];
    await until(`${count} deliveries are woken`, async () => {
      await newSweeper(db, native).sweep();
      woken.push(...(await wakeUps(db)));
      return woken.length >= count;
    });
    return woken;
  };

  describe('a delivery that goes well', () => {
    it('is called once, recorded with its reference and announced, and only then settled', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const one = received(event);
      const { take, db: view } = start();
      let settledAtRecord: boolean | undefined;
      view.intercept = (name, run) => {
        if (name === 'delivery.record') settledAtRecord = one.receipt.settled;
        return run();
      };
      take([one]);
      await settled([one]);
      expect(settledAtRecord).toBe(false);
      expect(await stateOf(event)).toBe('delivered');
      expect(await operationsOf(event)).toMatchObject([{ state: 'succeeded', destination_ref: 'R-1', attempts: 1 }]);
      expect(await attemptsOf(event)).toEqual([{ outcome: 'succeeded', late: false, number: 1 }]);
      expect(await outbox('resolved')).toMatchObject([{ value: Buffer.from('delivered'), headers: { id: event.id } }]);
    });

    it('sends nothing for an event that is not the target’s, and settles it', async () => {
      const one = received({ ...(newEvents(1)[0] as RigEvent), ref: 'not-ours' });
      start().take([one]);
      await settled([one]);
      expect(crm.requests).toHaveLength(0);
    });

    it('performs its operations in their order and hands earlier references on', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const one = received(event);
      start({ kinds: ['contact', 'lead'] }).take([one]);
      await settled([one]);
      expect(crm.requests.map(({ key }) => key.split(':').at(-1))).toEqual(['contact', 'lead']);
      expect(crm.requests[1]?.context.refs).toEqual({ contact: 'R-1' });
      expect(await operationsOf(event)).toMatchObject([{ state: 'succeeded' }, { state: 'succeeded' }]);
    });

    it('goes on in the trace of its record, and announces within it', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const traceId = '0af7651916cd43dd8448eb211c80319c';
      const one = received(event, `00-${traceId}-b7ad6b7169203331-01`);
      start().take([one]);
      await settled([one]);
      expect(crm.requests[0]?.context.trace.traceId).toBe(traceId);
      expect((await outbox('resolved'))[0]?.headers.traceparent).toContain(traceId);
    });
  });

  describe('repeated records', () => {
    it('makes one call of one event that comes twice in one batch, and settles both', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const twins = [received(event), received(event)];
      start().take(twins);
      await settled(twins);
      expect(crm.requests).toHaveLength(1);
    });

    it('makes no call of a delivery that has ended', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const first = received(event);
      const { take } = start();
      take([first]);
      await settled([first]);
      const again = received(event);
      take([again]);
      await settled([again]);
      expect(crm.requests).toHaveLength(1);
      expect(await outbox('resolved')).toHaveLength(1);
    });

    it('makes exactly one call each when two engines race for 300 events without native idempotency', async () => {
      crm.native = false;
      const events = newEvents(300);
      const [left, right] = [events.map((event) => received(event)), [...events].reverse().map((event) => received(event))];
      const [a, b] = [start(), start()];
      a.take(left);
      b.take(right);
      await settled([...left, ...right]);
      await until('all are delivered', async () => (await outbox('resolved')).length === 300);
      expect(crm.records).toHaveLength(300);
      expect(new Set(crm.records.map(({ key }) => key)).size).toBe(300);
    });

    it('does not claim a record whose assignment is over', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const one = received(event);
      one.receipt.stale = true;
      const { take } = start();
      take([one]);
      const fresh = received(newEvents(1)[0] as RigEvent);
      take([fresh]);
      await settled([fresh]);
      expect(await stateOf(event)).toBeUndefined();
    });

    it('finishes a claimed delivery whose assignment ends meanwhile; its next owner drops the record', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const one = received(event);
      let answer: () => void = () => {};
      crm.behave = (_key, execute) => new Promise((resolve) => (answer = () => resolve({ kind: 'succeeded', ref: execute() })));
      start().take([one]);
      await until('the call is out', () => crm.requests.length === 1);
      one.receipt.stale = true;
      const again = received(event);
      start().take([again]);
      await settled([again]);
      answer();
      await until('it is delivered', async () => (await stateOf(event)) === 'delivered');
      expect(crm.records).toHaveLength(1);
      expect(one.receipt.settled).toBe(false);
    });
  });

  describe('a process that dies', () => {
    it('after the answer and before the record, with native idempotency: the same call is repeated, one effect', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const first = start({ leaseMs: 300 });
      first.db.intercept = (name, run) => {
        if (name === 'delivery.record') first.kill();
        return first.db.dead ? new Promise(() => {}) : run();
      };
      first.take([received(event)]);
      await until('the first process is dead', () => first.db.dead);
      const woken = await sweptWakeUps(1);
      expect(await operationsOf(event)).toMatchObject([{ state: 'pending', attempts: 1 }]);
      start().take(woken);
      await settled(woken);
      expect(await stateOf(event)).toBe('delivered');
      expect(crm.requests).toHaveLength(2);
      expect(crm.requests[0]?.attemptId).not.toBe(crm.requests[1]?.attemptId);
      expect(crm.records).toHaveLength(1);
      expect((await attemptsOf(event)).map(({ outcome }) => outcome)).toEqual(['lease_expired', 'succeeded']);
      expect(await outbox('resolved')).toHaveLength(1);
    });

    it('after the answer, without native idempotency: uncertain, never sent again, not announced', async () => {
      crm.native = false;
      const [event] = newEvents(1) as [RigEvent];
      const first = start({ leaseMs: 300 });
      first.db.intercept = (name, run) => {
        if (name === 'delivery.record') first.kill();
        return first.db.dead ? new Promise(() => {}) : run();
      };
      first.take([received(event)]);
      await until('it is uncertain', async () => {
        await newSweeper(db, false).sweep();
        return (await stateOf(event)) === 'uncertain';
      });
      expect(await wakeUps(db)).toHaveLength(0);
      const again = received(event);
      start().take([again]);
      await settled([again]);
      expect(crm.requests).toHaveLength(1);
      expect(await operationsOf(event)).toMatchObject([{ state: 'uncertain', attempts: 1 }]);
      expect(await outbox('resolved')).toHaveLength(0);
    });

    it('after its claim and before the mark, without native idempotency: provably not sent, so it is sent', async () => {
      crm.native = false;
      const [event] = newEvents(1) as [RigEvent];
      const first = start({ leaseMs: 300 });
      first.db.intercept = (name, run) => {
        if (name === 'operation.mark') first.kill();
        return first.db.dead ? new Promise(() => {}) : run();
      };
      first.take([received(event)]);
      await until('the first process is dead', () => first.db.dead);
      const woken = await sweptWakeUps(1, false);
      start().take(woken);
      await settled(woken);
      expect(await stateOf(event)).toBe('delivered');
      expect(crm.requests).toHaveLength(1);
      expect(await attemptsOf(event)).toEqual([{ outcome: 'succeeded', late: false, number: 1 }]);
    });

    it('between two operations without native idempotency: only the missing one is sent', async () => {
      crm.native = false;
      const [event] = newEvents(1) as [RigEvent];
      const first = start({ leaseMs: 300, kinds: ['contact', 'lead'] });
      let marks = 0;
      first.db.intercept = (name, run) => {
        if (name === 'operation.mark' && ++marks === 2) first.kill();
        return first.db.dead ? new Promise(() => {}) : run();
      };
      first.take([received(event)]);
      await until('the first process is dead', () => first.db.dead);
      expect(await operationsOf(event)).toMatchObject([{ state: 'succeeded' }, { state: 'in_flight' }]);
      const woken = await sweptWakeUps(1, false);
      start({ kinds: ['contact', 'lead'] }).take(woken);
      await settled(woken);
      expect(crm.requests.map(({ key }) => key.split(':').at(-1))).toEqual(['contact', 'lead']);
      expect(crm.requests[1]?.context.refs).toEqual({ contact: 'R-1' });
      expect(await stateOf(event)).toBe('delivered');
    });

    it('in the midst of 400 leads: none is lost and none has a second effect', async () => {
      const events = newEvents(400);
      const first = start({ leaseMs: 400 });
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
      const second = start();
      const redelivered = all
        .filter(({ receipt }) => !receipt.settled)
        .map(({ result }) => received((result as { event: RigEvent }).event));
      expect(redelivered.length).toBeGreaterThan(0);
      second.take(redelivered);
      await settled(redelivered);
      await until('all are delivered', async () => {
        await newSweeper(db, true).sweep();
        second.take(await wakeUps(db));
        return (await outbox('resolved')).length === 400;
      });
      expect(crm.records).toHaveLength(400);
    });
  });

  describe('leases', () => {
    it('are renewed while a call is under way, so that nobody else takes the delivery', async () => {
      const [event] = newEvents(1) as [RigEvent];
      let answer: () => void = () => {};
      crm.behave = (_key, execute) => new Promise((resolve) => (answer = () => resolve({ kind: 'succeeded', ref: execute() })));
      const one = received(event);
      start({ leaseMs: 300 }).take([one]);
      await until('the call is out', () => crm.requests.length === 1);
      const end = performance.now() + 900;
      await until('three leases have passed', async () => {
        await newSweeper(db, true).sweep();
        return performance.now() > end;
      });
      expect(await wakeUps(db)).toHaveLength(0);
      answer();
      await settled([one]);
      expect(await attemptsOf(event)).toEqual([{ outcome: 'succeeded', late: false, number: 1 }]);
    });

    it('that were lost leave a late answer: it is kept, and its reference counts when nobody else was called', async () => {
      const [event] = newEvents(1) as [RigEvent];
      let answer: () => void = () => {};
      crm.behave = (_key, execute) => new Promise((resolve) => (answer = () => resolve({ kind: 'succeeded', ref: execute() })));
      const one = received(event);
      const { take, db: view } = start({ leaseMs: 300 });
      view.intercept = (name, run) => (name === 'delivery.renew' ? Promise.reject(new DatabaseUnavailable('08006')) : run());
      take([one]);
      await until('the call is out', () => crm.requests.length === 1);
      await sweptWakeUps(1);
      answer();
      await settled([one]);
      expect(await stateOf(event)).toBe('delivered');
      expect(await operationsOf(event)).toMatchObject([{ state: 'succeeded', destination_ref: 'R-1' }]);
      expect(await attemptsOf(event)).toMatchObject([
        { outcome: 'succeeded', late: true },
        { outcome: 'lease_expired', late: false },
      ]);
      expect(await outbox('resolved')).toHaveLength(1);
    });

    it('that another process took: the late answer changes nothing, its call is kept', async () => {
      const [event] = newEvents(1) as [RigEvent];
      const answers: (() => void)[] = [];
      crm.behave = (_key, execute) => new Promise((resolve) => answers.push(() => resolve({ kind: 'succeeded', ref: execute() })));
      const first = start({ leaseMs: 300 });
      first.db.intercept = (name, run) => (name === 'delivery.renew' ? Promise.reject(new DatabaseUnavailable('08006')) : run());
      const one = received(event);
      first.take([one]);
      await until('the call is out', () => crm.requests.length === 1);
      const woken = await sweptWakeUps(1);
      start().take(woken);
      await until('the second call is out', () => crm.requests.length === 2);
      answers[0]?.();
      await settled([one]);
      expect(await stateOf(event)).toBe('in_flight');
      answers[1]?.();
      await settled(woken);
      expect(await stateOf(event)).toBe('delivered');
      expect(crm.records).toHaveLength(1);
      expect((await attemptsOf(event)).filter(({ late }) => late)).toHaveLength(1);
      expect(await outbox('resolved')).toHaveLength(1);
    });
  });
});
