import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { VaultReadItem } from '#contracts';
import { DatabaseUnavailable, StatementFailed } from '#runtime';
import { type MortalDatabase, newEvents, type RigEvent, RigReceipt, received, until } from '../../../test/support/delivery-rig.js';
import { deliveryWorld } from '../../../test/support/delivery-world.js';

describe('the delivery engine while something is away', () => {
  const world = deliveryWorld('outages');

  describe('the vault', () => {
    const payload = { person_key: 'p' };
    const known = (refs: readonly string[]) =>
      refs.map((lead_ref) => ({ lead_ref, status: 200, revision: 1, payload }) as unknown as VaultReadItem);

    it('unreachable: rows go back to pending, the group is paused, no attempt is made; back: all is delivered', async () => {
      let away = true;
      const vault = { read: (refs: readonly string[]) => (away ? Promise.reject(new Error('away')) : Promise.resolve(known(refs))) };
      const { take, paused } = world.start({ vault, needsVault: true });
      const all = newEvents(30).map((event) => received(event));
      take(all);
      await until('the rows are given back', async () => (await world.states()).pending === 30);
      expect(paused).toEqual(new Set(['vault']));
      expect(await world.attempts()).toHaveLength(0);
      expect(all.some(({ receipt }) => receipt.settled)).toBe(false);
      away = false;
      await world.settled(all);
      expect(await world.states()).toEqual({ delivered: 30 });
      expect(paused.size).toBe(0);
      expect(await world.attempts()).toHaveLength(30);
      expect(world.crm.requests[0]?.context.payload).toEqual(payload);
    });

    it('without the lead any more: the delivery is erased, nothing is sent, that is announced', async () => {
      const vault = {
        read: (refs: readonly string[]) => Promise.resolve(refs.map((lead_ref) => ({ lead_ref, status: 410 as const, revision: 2 }))),
      };
      const one = received(newEvents(1)[0] as RigEvent);
      world.start({ vault, needsVault: true }).take([one]);
      await world.settled([one]);
      expect(await world.states()).toEqual({ erased: 1 });
      expect(world.crm.requests).toHaveLength(0);
      expect(await world.announced()).toEqual(['erased']);
    });

    const vaultWith = (item: object) => ({
      read: (refs: readonly string[]) => Promise.resolve(refs.map((lead_ref) => ({ lead_ref, revision: 1, ...item }) as VaultReadItem)),
    });

    it('that knows of consent withdrawn meanwhile: the delivery is discarded, nothing is sent, that is announced', async () => {
      const one = received(newEvents(1)[0] as RigEvent);
      world.start({ vault: vaultWith({ status: 200, payload, consent_withdrawn: true }), needsVault: true }).take([one]);
      await world.settled([one]);
      expect(await world.states()).toEqual({ discarded: 1 });
      expect(world.crm.requests).toHaveLength(0);
      expect(await world.announced()).toEqual(['discarded']);
      expect(await world.outbox('dlq')).toEqual([]);
    });

    it('that cannot open this one lead: the delivery waits without an attempt', async () => {
      const one = received(newEvents(1)[0] as RigEvent);
      const { take, paused } = world.start({ vault: vaultWith({ status: 500, code: 'unreadable' }), needsVault: true });
      take([one]);
      await world.settled([one]);
      expect(await world.states()).toEqual({ waiting: 1 });
      expect(await world.attempts()).toEqual([]);
      expect(paused.size).toBe(0);
    });
  });

  describe('the database', () => {
    /** Its statements by name that were refused while it was away; tried again and again until it is back. */
    const cutOff = (view: MortalDatabase) => {
      const cut = { away: false, refused: [] as string[] };
      view.intercept = (name, run) => {
        if (!cut.away) return run();
        cut.refused.push(name);
        return Promise.reject(new DatabaseUnavailable('ECONNREFUSED'));
      };
      return cut;
    };
    const refusedTwice = (cut: { refused: string[] }, name: string) =>
      until(`${name} was refused more than once`, () => cut.refused.filter((one) => one === name).length > 1);

    it('gone before the claim: the group is paused, nothing is settled; back: all is delivered once', async () => {
      const { take, paused, db: view } = world.start();
      const cut = cutOff(view);
      cut.away = true;
      const all = newEvents(20).map((event) => received(event));
      take(all);
      await refusedTwice(cut, 'delivery.claim');
      expect(paused).toEqual(new Set(['database']));
      expect(await world.states()).toEqual({});
      expect(all.some(({ receipt }) => receipt.settled)).toBe(false);
      expect(world.crm.requests).toHaveLength(0);
      cut.away = false;
      await world.settled(all);
      expect(paused.size).toBe(0);
      expect(await world.states()).toEqual({ delivered: 20 });
      expect([world.crm.requests.length, world.crm.records.length]).toEqual([20, 20]);
    });

    it('gone between the call and its record: nothing is settled until the record is written, and nothing is sent twice', async () => {
      world.crm.native = false;
      const answers: (() => void)[] = [];
      world.crm.behave = (_key, execute) => new Promise((resolve) => answers.push(() => resolve({ kind: 'succeeded', ref: execute() })));
      const { take, paused, db: view } = world.start();
      const cut = cutOff(view);
      const all = newEvents(5).map((event) => received(event));
      take(all);
      await until('all calls are out', () => answers.length === 5);
      cut.away = true;
      for (const answer of answers) answer();
      await refusedTwice(cut, 'delivery.record');
      expect(paused).toEqual(new Set(['database']));
      expect(world.crm.records).toHaveLength(5);
      expect(all.some(({ receipt }) => receipt.settled)).toBe(false);
      expect(await world.states()).toEqual({ in_flight: 5 });
      expect([await world.attempts(), await world.announced()]).toEqual([[], []]);
      cut.away = false;
      await world.settled(all);
      expect(paused.size).toBe(0);
      expect(await world.states()).toEqual({ delivered: 5 });
      expect(world.crm.requests).toHaveLength(5);
      expect([(await world.attempts()).length, (await world.announced()).length]).toEqual([5, 5]);
    });

    it('that swallows the answer of a claim: the claim is repeated and stands', async () => {
      let swallow = true;
      const { take, db: view } = world.start();
      view.intercept = async (name, run) => {
        const rows = await run();
        if (name !== 'delivery.claim' || !swallow) return rows;
        swallow = false;
        throw new DatabaseUnavailable('connection_lost');
      };
      const all = newEvents(10).map((event) => received(event));
      take(all);
      await world.settled(all);
      expect(world.crm.requests).toHaveLength(10);
      expect(await world.states()).toEqual({ delivered: 10 });
    });

    it('that swallows the answer of a record: it is known for our own, one attempt and one announcement each', async () => {
      let swallow = true;
      const { take, db: view } = world.start();
      view.intercept = async (name, run) => {
        const rows = await run();
        if (name !== 'delivery.record' || !swallow) return rows;
        swallow = false;
        throw new DatabaseUnavailable('connection_lost');
      };
      const all = newEvents(10).map((event) => received(event));
      take(all);
      await world.settled(all);
      expect(world.crm.requests).toHaveLength(10);
      expect(await world.attempts()).toHaveLength(10);
      expect(await world.announced()).toHaveLength(10);
    });

    it('that swallows the answer of a record between two operations: each call counts once', async () => {
      world.crm.native = false;
      let swallow = true;
      const [event] = newEvents(1) as [RigEvent];
      const { take, db: view } = world.start({ kinds: ['contact', 'lead'] });
      view.intercept = async (name, run) => {
        const rows = await run();
        if (name !== 'delivery.record' || !swallow) return rows;
        swallow = false;
        throw new DatabaseUnavailable('connection_lost');
      };
      const one = received(event);
      take([one]);
      await world.settled([one]);
      expect(await world.operationsOf(event)).toMatchObject([
        { state: 'succeeded', attempts: 1 },
        { state: 'succeeded', attempts: 1 },
      ]);
      expect(await world.attempts()).toHaveLength(2);
      expect(world.crm.requests).toHaveLength(2);
    });

    it('gone when a late answer is settled: nothing is settled until it is back, and the reference counts', async () => {
      const [event] = newEvents(1) as [RigEvent];
      let answer: () => void = () => {};
      let away = false;
      world.crm.behave = (_key, execute) => new Promise((resolve) => (answer = () => resolve({ kind: 'succeeded', ref: execute() })));
      const { take, paused, db: view } = world.start({ leaseMs: 300 });
      view.intercept = (name, run) => {
        const cut = name === 'delivery.renew' || (away && name === 'transaction');
        return cut ? Promise.reject(new DatabaseUnavailable('08006')) : run();
      };
      const one = received(event);
      take([one]);
      await until('the call is out', () => world.crm.requests.length === 1);
      await world.sweptWakeUps(1);
      away = true;
      answer();
      await until('the group is paused', () => paused.has('database'));
      expect(one.receipt.settled).toBe(false);
      away = false;
      await world.settled([one]);
      expect(await world.stateOf(event)).toBe('delivered');
      expect(await world.operationsOf(event)).toMatchObject([{ state: 'succeeded', destination_ref: 'R-1' }]);
      expect(paused.size).toBe(0);
    });

    it('that reports deadlocks gets the same statement again', async () => {
      let deadlocks = 3;
      const { take, paused, db: view } = world.start();
      view.intercept = (_name, run) => (deadlocks-- > 0 ? Promise.reject(new StatementFailed({ code: '40P01' })) : run());
      const one = received(newEvents(1)[0] as RigEvent);
      take([one]);
      await world.settled([one]);
      expect(paused.size).toBe(0);
    });
  });

  describe('one bad record among many', () => {
    it.each<[string, (event: RigEvent) => void]>([
      ['holds a NUL', (event) => (event.ref = 'L-\u0000')],
      ['is too large for an index', (event) => (event.kinds = [randomBytes(8_000).toString('base64')])],
    ])('whose text %s goes to the dead-letter topic; the 255 beside it are delivered', async (_what, spoil) => {
      const events = newEvents(256);
      spoil(events[137] as RigEvent);
      const all = events.map((event) => received(event));
      const { take, db } = world.start({ concurrency: 256 });
      let claims = 0;
      db.intercept = (name, run) => {
        if (name === 'delivery.claim') claims += 1;
        return run();
      };
      take(all);
      await world.settled(all);
      // All in one statement, which is halved down to the one row.
      expect(claims).toBe(1 + 2 * Math.log2(256));
      expect(await world.states()).toEqual({ delivered: 255 });
      expect(await world.stateOf(events[137] as RigEvent)).toBeUndefined();
      const dead = await world.db.sql<{ headers: Record<string, string> }>(
        'rig.dead',
        `SELECT headers FROM outbox WHERE topic = 'dlq'`,
        [],
      );
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
      world.start().take([unreadable, tombstone]);
      await world.settled([unreadable, tombstone]);
      const dead = await world.db.sql<{ value: Buffer }>('rig.dead_value', `SELECT value FROM outbox WHERE topic = 'dlq'`, []);
      expect(dead.map(({ value }) => [...value])).toEqual([[1, 2, 3]]);
    });
  });

  it('text of a provider that SQL cannot hold costs nobody their record', async () => {
    world.crm.behave = (_key, execute) => ({ kind: 'succeeded', ref: `${execute()}\u0000\ud83d`, providerRequestId: 'x'.repeat(5_000) });
    const all = newEvents(20).map((event) => received(event));
    world.start().take(all);
    await world.settled(all);
    expect(await world.states()).toEqual({ delivered: 20 });
  });

  it('stopping gives back what was claimed and not sent, due at once for the next process', async () => {
    let release: () => void = () => {};
    world.crm.behave = (_key, execute) => new Promise((resolve) => (release = () => resolve({ kind: 'succeeded', ref: execute() })));
    const { take, engine } = world.start({ concurrency: 1 });
    const all = newEvents(3).map((event) => received(event));
    take(all);
    await until(
      'one call is out and the rest is claimed',
      async () => world.crm.requests.length === 1 && (await world.states()).in_flight === 3,
    );
    const stopped = engine.stop(5_000);
    release();
    await stopped;
    expect(await world.states()).toEqual({ delivered: 1, pending: 2 });
    world.crm.behave = (_key, execute) => ({ kind: 'succeeded', ref: execute() });
    const rest = all.filter(({ receipt }) => !receipt.settled).map(({ result }) => received((result as { event: RigEvent }).event));
    expect(rest).toHaveLength(2);
    world.start().take(rest);
    await world.settled(rest);
    expect(world.crm.requests).toHaveLength(3);
  });
});
