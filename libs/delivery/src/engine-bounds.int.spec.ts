import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { VaultReadItem } from '#contracts';
import type { Database } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import {
  newEvents,
  openDeliveryDatabase,
  RigCrm,
  type RigEvent,
  type RigProcess,
  type RigProcessOptions,
  received,
  startProcess,
  until,
} from '../../../test/support/delivery-rig.js';

describe('what the delivery engine claims, and how long it may send it', () => {
  let database: TestDatabase;
  let db: Database;
  let crm: RigCrm;
  const processes: RigProcess[] = [];

  beforeAll(async () => {
    database = await testDatabase('bounds');
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
  const count = async (state: string): Promise<number> => {
    const [row] = await db.sql<{ count: number }>('rig.count', 'SELECT count(*)::int AS count FROM delivery WHERE state = $1', [state]);
    return row?.count ?? 0;
  };

  it('claims a batch ahead of what it sends, and no more', async () => {
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    crm.behave = async (_key, execute) => {
      await answered;
      return { kind: 'succeeded', ref: execute() };
    };
    const { take } = start({ concurrency: 4 });
    const all = newEvents(1_000).map((event) => received(event));
    take(all);
    await until('a batch waits behind the calls under way', async () => (await count('in_flight')) === 256 + 4);
    await delay(100);
    expect(await count('in_flight')).toBe(256 + 4);
    answer();
    await until('all are settled', () => all.every(({ receipt }) => receipt.settled));
    expect(await count('delivered')).toBe(1_000);
    expect(crm.records).toHaveLength(1_000);
  }, 30_000);

  it('tries a probe again whose lease became too short for its call, so that the pause ends', async () => {
    crm.behave = (_key, execute) =>
      crm.requests.length === 1 ? { kind: 'uncertain', code: 'http_503', status: 503 } : { kind: 'succeeded', ref: execute() };
    let reads = 0;
    const read = async (refs: readonly string[]): Promise<VaultReadItem[]> => {
      reads += 1;
      if (reads === 2) await delay(200);
      return refs.map((lead_ref) => ({ lead_ref, status: 200, revision: 1, payload: {} as never }));
    };
    const { take, paused, db: view } = start({ leaseMs: 600, timeoutMs: 500, needsVault: true, vault: { read } });
    view.intercept = (name, run) => (name === 'delivery.renew' ? Promise.resolve([]) : run());
    const one = received(newEvents(1)[0] as RigEvent);
    take([one]);
    await until('it is delivered', async () => (await count('delivered')) === 1);
    expect(reads).toBeGreaterThan(2);
    await until('the group goes on', () => paused.size === 0);
  }, 30_000);

  it('does not send under a mark whose answer came too late', async () => {
    crm.native = false;
    let marks = 0;
    const { take, db: view } = start({ leaseMs: 1_000, timeoutMs: 700 });
    view.intercept = async (name, run) => {
      if (name === 'delivery.renew') throw new Error('no renewal');
      const rows = await run();
      if (name === 'operation.mark' && ++marks === 1) {
        await delay(400);
        expect(crm.requests).toHaveLength(0);
      }
      return rows;
    };
    const one = received(newEvents(1)[0] as RigEvent);
    take([one]);
    await until('it is delivered', async () => (await count('delivered')) === 1);
    expect(marks).toBe(2);
    expect(crm.records).toHaveLength(1);
  }, 30_000);
});
