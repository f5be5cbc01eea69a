import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { VaultReadItem } from '#contracts';
import { type Database, DatabaseUnavailable, StatementFailed } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import {
  newEvents,
  openDeliveryDatabase,
  RigCrm,
  type RigEvent,
  type RigProcess,
  type RigProcessOptions,
  RigReceipt,
  received,
  startProcess,
  until,
} from '../../../test/support/delivery-rig.js';
import type { Outcome } from './outcome.js';

describe('the delivery engine while something is away', () => {
  let database: TestDatabase;
  let db: Database;
  let crm: RigCrm;
  const processes: RigProcess[] = [];

  beforeAll(async () => {
    database = await testDatabase('outages');
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
    await Promise.all(processes.splice(0).map(({ engine }) => engine.stop(1_000)));
    for (const table of ['delivery', 'operation', 'attempt', 'outbox']) await db.sql(`rig.clear.${table}`, `DELETE FROM ${table}`, []);
  });

  const start = (options: Partial<RigProcessOptions> = {}): RigProcess => {
    const process = startProcess({ db, crm, ...options });
    processes.push(process);
    return process;
  };
  const states = async (): Promise<Record<string, number>> => {
    const rows = await db.sql<{ state: string; count: number }>(
      'rig.states',
      'SELECT state, count(*)::int AS count FROM delivery GROUP BY state',
      [],
    );
    return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
  };
  const attempts = (): Promise<{ outcome: string; code: string | null; class: string | null; status: number | null }[]> =>
    db.sql('rig.attempts', 'SELECT outcome, code, class, status FROM attempt ORDER BY number, started_at', []);
  const announced = async (): Promise<string[]> => {
    const rows = await db.sql<{ value: Buffer }>('rig.resolved', `SELECT value FROM outbox WHERE topic = 'resolved'`, []);
    return rows.map(({ value }) => value.toString());
  };
  const settled = (all: { receipt: { settled: boolean } }[]) =>
    until('all receipts are settled', () => all.every((one) => one.receipt.settled));

  describe('the destination', () => {
    const failOnce =
      (outcome: Outcome) =>
      (_key: string, execute: () => string, _count: number): Outcome =>
        crm.requests.length === 1 ? outcome : { kind: 'succeeded', ref: execute() };

    it.each<[string, Outcome]>([
      ['a 503', { kind: 'uncertain', code: 'http_503', status: 503 }],
      ['a refused connection', { kind: 'transient', code: 'econnrefused', provablyNotExecuted: true }],
      ['a 429', { kind: 'throttled', code: 'http_429', status: 429, afterMs: 20 }],
      ['a 422', { kind: 'permanent', class: 'permanent', code: 'bad_field', status: 422 }],
    ])(
      'after %s: the delivery waits, the group is paused, the retry ends the pause',
      async (_name, outcome) => {
        crm.behave = failOnce(outcome);
        const { take, paused } = start();
        const one = received(newEvents(1)[0] as RigEvent);
        take([one]);
        await until('the first call has failed', () => crm.requests.length === 1);
        await settled([one]);
        expect(await announced()).toEqual([]);
        await until('it is delivered', async () => (await states()).delivered === 1);
        await until('the group goes on', () => paused.size === 0);
        expect(await attempts()).toMatchObject([
          { outcome: outcome.kind, code: 'code' in outcome ? outcome.code : null },
          { outcome: 'succeeded' },
        ]);
        expect(await announced()).toEqual(['delivered']);
      },
      30_000,
    );

    it('down: nothing but the probe is sent, and everything is delivered once when it is back', async () => {
      let down = true;
      crm.behave = (_key, execute) => (down ? { kind: 'uncertain', code: 'http_500', status: 500 } : { kind: 'succeeded', ref: execute() });
      const { take, paused } = start({ concurrency: 4 });
      const all = newEvents(60).map((event) => received(event));
      take(all);
      await until('the group is paused', () => paused.has('destination'));
      await until('what was not sent is given back', async () => (await states()).pending === 56);
      const first = new Set(crm.requests.map(({ key }) => key));
      expect(first.size).toBe(4);
      await until('it was probed', () => crm.requests.length > 6);
      expect(new Set(crm.requests.map(({ key }) => key))).toEqual(first);
      expect(all.filter(({ receipt }) => receipt.settled)).toHaveLength(4);
      down = false;
      await settled(all);
      await until('all are delivered', async () => (await states()).delivered === 60);
      expect(paused.size).toBe(0);
      expect(crm.records).toHaveLength(60);
    }, 30_000);

    it('a call that may have happened and cannot be repeated is uncertain, and holds nobody up', async () => {
      crm.native = false;
      const [lost, next] = newEvents(2) as [RigEvent, RigEvent];
      crm.behave = (key, execute) => {
        const ref = execute();
        return key.startsWith(lost.id) ? { kind: 'uncertain', code: 'timeout' } : { kind: 'succeeded', ref };
      };
      const { take, paused } = start();
      const all = [received(lost), received(next)];
      take(all);
      await settled(all);
      expect(await states()).toEqual({ delivered: 1, uncertain: 1 });
      expect(paused.size).toBe(0);
      const again = received(lost);
      take([again]);
      await settled([again]);
      expect(crm.of(`${lost.id}:rig:lead`)).toHaveLength(1);
    });

    it('a partial success is kept: only the missing operation is repeated', async () => {
      const [event] = newEvents(1) as [RigEvent];
      crm.behave = (key, execute, count) =>
        key.endsWith('lead') && count === 1 ? { kind: 'uncertain', code: 'http_502' } : { kind: 'succeeded', ref: execute() };
      const { take } = start({ kinds: ['contact', 'lead'] });
      take([received(event)]);
      await until('it is delivered', async () => (await states()).delivered === 1);
      expect(crm.requests.map(({ key }) => key.split(':').at(-1))).toEqual(['contact', 'lead', 'lead']);
      expect(crm.requests[2]?.context.refs).toEqual({ contact: 'R-1' });
    });

    it('a retry is a new trace, the first call belongs to the caller’s', async () => {
      const traceId = '0af7651916cd43dd8448eb211c80319c';
      crm.behave = failOnce({ kind: 'uncertain', code: 'http_503' });
      start().take([received(newEvents(1)[0] as RigEvent, `00-${traceId}-b7ad6b7169203331-01`)]);
      await until('it was retried', () => crm.requests.length === 2);
      expect(crm.requests[0]?.context.trace.traceId).toBe(traceId);
      expect(crm.requests[1]?.context.trace.traceId).not.toBe(traceId);
    });

    it('a connector that throws is taken for a call that may have happened', async () => {
      crm.native = false;
      crm.behave = () => {
        throw new Error('bug');
      };
      const one = received(newEvents(1)[0] as RigEvent);
      start().take([one]);
      await settled([one]);
      expect(await attempts()).toMatchObject([{ outcome: 'uncertain', code: 'connector_threw' }]);
    });

    it('text of a provider that SQL cannot hold costs nobody their record', async () => {
      crm.behave = (_key, execute) => ({ kind: 'succeeded', ref: `${execute()}\u0000\ud83d`, providerRequestId: 'x'.repeat(5_000) });
      const all = newEvents(20).map((event) => received(event));
      start().take(all);
      await settled(all);
      expect(await states()).toEqual({ delivered: 20 });
    });
  });

  describe('the vault', () => {
    const payload = { person_key: 'p' };
    const known = (refs: readonly string[]) =>
      refs.map((lead_ref) => ({ lead_ref, status: 200, revision: 1, payload }) as unknown as VaultReadItem);

    it('unreachable: rows go back to pending, the group is paused, no attempt is made; back: all is delivered', async () => {
      let away = true;
      const vault = { read: (refs: readonly string[]) => (away ? Promise.reject(new Error('away')) : Promise.resolve(known(refs))) };
      const { take, paused } = start({ vault, needsVault: true });
      const all = newEvents(30).map((event) => received(event));
      take(all);
      await until('the rows are given back', async () => (await states()).pending === 30);
      expect(paused).toEqual(new Set(['vault']));
      expect(await attempts()).toHaveLength(0);
      expect(all.some(({ receipt }) => receipt.settled)).toBe(false);
      away = false;
      await settled(all);
      expect(await states()).toEqual({ delivered: 30 });
      expect(paused.size).toBe(0);
      expect(await attempts()).toHaveLength(30);
      expect(crm.requests[0]?.context.payload).toEqual(payload);
    });

    it('without the lead any more: the delivery is erased, nothing is sent, that is announced', async () => {
      const vault = {
        read: (refs: readonly string[]) => Promise.resolve(refs.map((lead_ref) => ({ lead_ref, status: 410 as const, revision: 2 }))),
      };
      const one = received(newEvents(1)[0] as RigEvent);
      start({ vault, needsVault: true }).take([one]);
      await settled([one]);
      expect(await states()).toEqual({ erased: 1 });
      expect(crm.requests).toHaveLength(0);
      expect(await announced()).toEqual(['erased']);
    });
  });

  describe('the deadline', () => {
    it('that has passed: the delivery expires without a call, and that is announced', async () => {
      const one = received(newEvents(1, -1_000)[0] as RigEvent);
      start().take([one]);
      await settled([one]);
      expect(await states()).toEqual({ expired: 1 });
      expect(crm.requests).toHaveLength(0);
      expect(await announced()).toEqual(['expired']);
      expect(await db.sql('rig.class', 'SELECT class, code FROM delivery', [])).toEqual([{ class: 'deadline_exceeded', code: 'deadline' }]);
    });

    it('that is near cuts the timeout of the call', async () => {
      const one = received(newEvents(1, 10_000)[0] as RigEvent);
      start({ timeoutMs: 20_000 }).take([one]);
      await settled([one]);
      expect(crm.requests[0]?.context.timeoutMs).toBeLessThanOrEqual(10_000);
    });
  });

  describe('the database', () => {
    it('gone before the claim: the group is paused, nothing is settled; back: all is delivered once', async () => {
      let away = true;
      const { take, paused, db: view } = start();
      view.intercept = (_name, run) => (away ? Promise.reject(new DatabaseUnavailable('ECONNREFUSED')) : run());
      const all = newEvents(20).map((event) => received(event));
      take(all);
      await until('the group is paused', () => paused.has('database'));
      expect(all.some(({ receipt }) => receipt.settled)).toBe(false);
      expect(crm.requests).toHaveLength(0);
      away = false;
      await settled(all);
      expect(paused.size).toBe(0);
      expect(crm.records).toHaveLength(20);
    });

    it('gone between the call and its record: nothing is settled until the record is written, and nothing is sent twice', async () => {
      crm.native = false;
      let away = false;
      const { take, paused, db: view } = start();
      view.intercept = (name, run) => {
        if (name === 'delivery.record' && paused.size === 0 && crm.requests.length === 5) away = true;
        return away ? Promise.reject(new DatabaseUnavailable('57P01')) : run();
      };
      const all = newEvents(5).map((event) => received(event));
      take(all);
      await until('the group is paused', () => paused.has('database'));
      expect(all.every(({ receipt }) => receipt.settled)).toBe(false);
      view.intercept = (_name, run) => run();
      await settled(all);
      expect(crm.requests).toHaveLength(5);
      expect(await states()).toEqual({ delivered: 5 });
    });

    it('that swallows the answer of a claim: the claim is repeated and stands', async () => {
      let swallow = true;
      const { take, db: view } = start();
      view.intercept = async (name, run) => {
        const rows = await run();
        if (name !== 'delivery.claim' || !swallow) return rows;
        swallow = false;
        throw new DatabaseUnavailable('connection_lost');
      };
      const all = newEvents(10).map((event) => received(event));
      take(all);
      await settled(all);
      expect(crm.requests).toHaveLength(10);
      expect(await states()).toEqual({ delivered: 10 });
    });

    it('that swallows the answer of a record: it is known for our own, one attempt and one announcement each', async () => {
      let swallow = true;
      const { take, db: view } = start();
      view.intercept = async (name, run) => {
        const rows = await run();
        if (name !== 'delivery.record' || !swallow) return rows;
        swallow = false;
        throw new DatabaseUnavailable('connection_lost');
      };
      const all = newEvents(10).map((event) => received(event));
      take(all);
      await settled(all);
      expect(crm.requests).toHaveLength(10);
      expect(await attempts()).toHaveLength(10);
      expect(await announced()).toHaveLength(10);
    });

    it('that reports deadlocks gets the same statement again', async () => {
      let deadlocks = 3;
      const { take, paused, db: view } = start();
      view.intercept = (_name, run) => (deadlocks-- > 0 ? Promise.reject(new StatementFailed({ code: '40P01' })) : run());
      const one = received(newEvents(1)[0] as RigEvent);
      take([one]);
      await settled([one]);
      expect(paused.size).toBe(0);
    });
  });

  describe('one bad record among many', () => {
    it('that the database cannot store goes to the dead-letter topic; its neighbours are delivered', async () => {
      const events = newEvents(50);
      const bad = events[17] as RigEvent;
      bad.ref = 'L-\u0000';
      const all = events.map((event) => received(event));
      start().take(all);
      await settled(all);
      expect(await states()).toEqual({ delivered: 49 });
      const dead = await db.sql<{ headers: Record<string, string> }>('rig.dead', `SELECT headers FROM outbox WHERE topic = 'dlq'`, []);
      expect(dead).toMatchObject([{ headers: { 'ld-error-class': 'invalid', 'ld-error-code': 'unstorable', 'ld-origin-topic': 'main' } }]);
    });

    it('that carries no event goes there as it is; a tombstone is just settled', async () => {
      const template = received(newEvents(1)[0] as RigEvent);
      const unreadable = {
        receipt: new RigReceipt({ ...template.receipt.record, value: Buffer.from([1, 2, 3]) }),
        result: { ok: false as const, reason: 'not_avro' as const, detail: '' },
      };
      const tombstone = {
        receipt: new RigReceipt({ ...template.receipt.record, value: null }),
        result: { ok: false as const, reason: 'tombstone' as const, detail: '' },
      };
      start().take([unreadable, tombstone]);
      await settled([unreadable, tombstone]);
      const dead = await db.sql<{ value: Buffer }>('rig.dead_value', `SELECT value FROM outbox WHERE topic = 'dlq'`, []);
      expect(dead.map(({ value }) => [...value])).toEqual([[1, 2, 3]]);
    });
  });

  it('stopping gives back what was claimed and not sent, due at once for the next process', async () => {
    let release: () => void = () => {};
    crm.behave = (_key, execute) => new Promise((resolve) => (release = () => resolve({ kind: 'succeeded', ref: execute() })));
    const { take, engine } = start({ concurrency: 1 });
    const all = newEvents(3).map((event) => received(event));
    take(all);
    await until('one call is out and the rest is claimed', async () => crm.requests.length === 1 && (await states()).in_flight === 3);
    const stopped = engine.stop(5_000);
    release();
    await stopped;
    expect(await states()).toEqual({ delivered: 1, pending: 2 });
    crm.behave = (_key, execute) => ({ kind: 'succeeded', ref: execute() });
    const rest = all.filter(({ receipt }) => !receipt.settled).map(({ result }) => received((result as { event: RigEvent }).event));
    expect(rest).toHaveLength(2);
    start().take(rest);
    await settled(rest);
    expect(crm.requests).toHaveLength(3);
  });
});
