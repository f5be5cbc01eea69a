import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  newEvents,
  RigCrm,
  type RigEvent,
  type RigProcess,
  received,
  startProcess,
  until,
  wakeUps,
} from '../../../test/support/delivery-rig.js';
import { openSweepRig, type SweepRig, sweeperOf, sweptTarget, topicsOf, verifierOf } from '../../../test/support/sweep-rig.js';
import type { LookupResult, Outcome } from './outcome.js';

jest.setTimeout(120_000);

/** Small, seeded, good enough to choose faults by. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Timeout 200 ms, execution 2 s and search lag 1 s of the rig's destination, in milliseconds of the virtual clock. */
const [timeoutMs, maxExecutionMs, searchLagMs] = [200, 2_000, 1_000];

/**
 * A CRM without idempotency behind a virtual clock: a request may be executed and its answer lost, be executed later than its caller waits,
 * or never be. A search shows a record a lag after it was made, and sometimes fails.
 */
class ForgetfulCrm {
  readonly crm = new RigCrm();
  nowMs = 0;
  private late: { atMs: number; execute: () => string }[] = [];
  private readonly madeAtMs = new Map<string, number>();
  readonly hits = new Map<string, number>();

  constructor(private readonly random: () => number) {
    this.crm.native = false;
    this.crm.behave = (key, execute) => this.answer(key, execute);
  }

  private hit(fault: string): void {
    this.hits.set(fault, (this.hits.get(fault) ?? 0) + 1);
  }

  private answer(key: string, execute: () => string): Outcome {
    const make = (): string => {
      this.madeAtMs.set(key, this.nowMs);
      return execute();
    };
    const dice = this.random();
    if (dice < 0.3) return { kind: 'succeeded', ref: make() };
    if (dice < 0.5) {
      this.hit('answer lost');
      make();
      return { kind: 'uncertain', code: 'reset' };
    }
    if (dice < 0.65) {
      this.hit('executed late');
      this.late.push({ atMs: this.nowMs + this.random() * (timeoutMs + maxExecutionMs - 1), execute: make });
      return { kind: 'uncertain', code: 'timeout' };
    }
    if (dice < 0.8) {
      this.hit('never executed');
      return { kind: 'uncertain', code: 'timeout' };
    }
    if (dice < 0.9) return { kind: 'transient', code: 'refused', provablyNotExecuted: true };
    this.hit('throttled');
    return { kind: 'throttled', code: 'http_429', status: 429 };
  }

  /** Time goes on: what was to be executed by now is. */
  pass(nowMs: number): void {
    const due = this.late.filter(({ atMs }) => atMs <= nowMs).sort((a, b) => a.atMs - b.atMs);
    this.late = this.late.filter(({ atMs }) => atMs > nowMs);
    for (const { atMs, execute } of due) {
      this.nowMs = atMs;
      execute();
    }
    this.nowMs = nowMs;
  }

  lookup(key: string): LookupResult {
    if (this.random() < 0.2) {
      this.hit('lookup failed');
      return { kind: 'unknown', code: 'http_503' };
    }
    const found = this.crm.records.filter((record) => record.key === key && this.nowMs - (this.madeAtMs.get(key) ?? 0) >= searchLagMs);
    const [first] = found;
    if (first === undefined) return { kind: 'absent' };
    return found.length > 1 ? { kind: 'several', refs: found.map(({ ref }) => ref) } : { kind: 'found', ref: first.ref };
  }
}

/**
 * Marks and jumps of the clock take turns: in the world no second passes between a mark and its call but the process stands still, and for
 * that its lease is there.
 */
class Turns {
  private marking = 0;
  private jumping: Promise<void> = Promise.resolve();

  async mark(name: string, run: () => Promise<unknown[]>): Promise<unknown[]> {
    if (name !== 'operation.mark') return run();
    await this.jumping;
    this.marking++;
    try {
      return await run();
    } finally {
      setTimeout(() => this.marking--, 5);
    }
  }

  async jump(run: () => Promise<void>): Promise<void> {
    await until('no call is about to be made', () => this.marking === 0);
    this.jumping = run();
    await this.jumping;
  }
}

describe('a destination without idempotency that loses answers', () => {
  let rig: SweepRig;
  beforeAll(async () => {
    rig = await openSweepRig('uncertain');
  });
  afterAll(() => rig.close());

  it.each([1, 2, 3])(
    'gets each of 40 leads once in effect, whatever happens to answers, searches and processes (seed %i)',
    async (seed) => {
      await rig.clear();
      const random = randomOf(seed);
      const fake = new ForgetfulCrm(random);
      const kinds = ['contact', 'lead'];
      const turns = new Turns();
      const process = (): RigProcess => {
        // A dead process calls nobody.
        const receive: RigCrm['receive'] = (key, context) => (started.db.dead ? new Promise(() => {}) : fake.crm.receive(key, context));
        const crm: RigCrm = Object.assign(Object.create(fake.crm) as RigCrm, { receive });
        const started = startProcess({ db: rig.db, crm, kinds, lookup: true, attempts: 1_000, timeoutMs, leaseMs: 30_000 });
        started.db.intercept = (name, run) => turns.mark(name, run);
        return started;
      };
      const target = sweptTarget({
        timeoutMs,
        verification: { maxExecutionMs, searchLagMs, horizonMs: 24 * 3_600_000 },
        attempts: () => 1_000,
        lookup: ({ operationKey }) => Promise.resolve(fake.lookup(operationKey)),
      });
      const events: RigEvent[] = newEvents(40, 24 * 3_600_000);
      let running = process();
      running.take(events.map((event) => received(event)));
      /** What never came to its end, for whoever has to find out why. */
      const leftOver = () =>
        rig.db.sql(
          'rig.left',
          `SELECT d.state, d.class, d.code, d.next_attempt_at - clock_now() AS due, d.woken_at - clock_now() AS woken, (
             SELECT json_agg(json_build_array(a.operation_key, a.outcome, a.started_at, a.late, o.state, o.sending_at) ORDER BY a.started_at)
             FROM attempt a JOIN operation o USING (operation_key) WHERE a.operation_key = ANY (d.operation_keys)
           ) AS attempts FROM delivery d WHERE state <> 'delivered'`,
          [],
        );
      const open = async () =>
        (await rig.db.sql<{ n: number }>('rig.open', `SELECT count(*)::int AS n FROM delivery WHERE state <> 'delivered'`, []))[0]?.n ?? 0;
      await until('all are claimed', async () => (await rig.db.sql('rig.all', 'SELECT 1 FROM delivery', [])).length === 40);
      let kills = 0;
      for (let second = 1; (await open()) > 0; second++) {
        if (second > 600) expect(await leftOver()).toEqual([]);
        await turns.jump(async () => {
          fake.pass(second * 1_000);
          await rig.advance(second * 1_000);
        });
        await sweeperOf(rig.db, target).sweep();
        await verifierOf(rig.db, target).verify();
        running.take(await wakeUps(rig.db));
        if (second === 4 || random() < 0.05) {
          await delay(random() * 10);
          kills++;
          running.kill();
          running = process();
        }
      }
      const made = fake.crm.records.map(({ key }) => key);
      expect(new Set(made).size).toBe(made.length);
      expect([...made].sort()).toEqual(events.flatMap(({ id }) => kinds.map((kind) => `${id}:rig:${kind}`)).sort());
      const refs = await rig.db.sql<{ key: string; ref: string }>(
        'rig.refs',
        'SELECT operation_key AS key, destination_ref AS ref FROM operation',
        [],
      );
      const byKey = new Map(fake.crm.records.map(({ key, ref }) => [key, ref]));
      for (const { key, ref } of refs) expect(ref).toBe(byKey.get(key));
      const announced = (await topicsOf(rig.db)).filter((topic) => topic === 'resolved');
      expect(announced).toHaveLength(40);
      // A fault that hit nothing proves nothing.
      const hits = { ...Object.fromEntries(fake.hits), kills };
      console.log(`faults of seed ${seed}: ${JSON.stringify(hits)}`);
      for (const [fault, count] of Object.entries(hits)) expect([fault, count > 0]).toEqual([fault, true]);
      await running.engine.stop(100);
    },
  );
});
