import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Discrepancy, listDiscrepanciesRequest, type ReconcileRun } from '#delivery';
import { testSize } from '#testkit';
import { MortalDatabase } from '../../../../test/support/delivery-rig.js';
import { eventually } from '../../../../test/support/eventually.js';
import { type OpenTools, openReconcilerDatabase, openTools } from '../../../../test/support/reconcile/open-tools.js';
import { type Planted, placesOf, plant } from '../../../../test/support/reconcile/plant.js';
import { openWorld, type World } from '../../../../test/support/reconcile/world.js';
import { listDiscrepancies } from '../discrepancies/list-discrepancies.js';
import { settleDiscrepancies } from '../discrepancies/settle-discrepancies.js';
import { listRuns } from './list-runs.js';
import { Runner } from './runner.js';
import { startRun, stopRun } from './start-run.js';

const leads = testSize() === 'long' ? 100_000 : 5_000;
const each = 10;
const page = 200;
const patienceMs = 240_000;

describe('comparing with a CRM', () => {
  let world: World;
  let open: OpenTools;
  let runner: Runner;
  let window: { from: string; to: string };
  /** Calls of a run over everything that finds what the run before found. */
  let callsOfAll: number;

  beforeAll(async () => {
    world = await openWorld({ leads, page, dropped: placesOf('missing', { leads, each }) });
    open = await openTools(world);
    runner = new Runner({ tools: open.tools, pollMs: 50 });
    runner.start();
    window = { from: new Date(Date.now() - 6 * 3_600_000).toISOString(), to: new Date(Date.now() + 3_600_000).toISOString() };
  }, patienceMs);
  afterAll(async () => {
    await runner?.stop();
    await open?.close();
    await world?.close();
  });

  const runOf = async (runId: string): Promise<ReconcileRun> => {
    const { items } = await listRuns(open.tools.db, { ids: [runId], limit: 1 });
    if (items[0] === undefined) throw new Error('no such run');
    return items[0];
  };
  const start = async (more: object = {}): Promise<string> => {
    const answer = await startRun(open.tools, { destination: 'crm', ...window, by: 'ada', ...more });
    if (!('run_id' in answer)) throw new Error(answer.refused);
    return answer.run_id;
  };
  const ended = (runId: string) =>
    eventually(async () => {
      const run = await runOf(runId);
      expect(['finished', 'failed', 'stopped']).toContain(run.state);
      return run;
    }, patienceMs);
  const compare = async (more: object = {}) => ended(await start(more));
  const found = async (filter: object = { state: 'open' }): Promise<Discrepancy[]> => {
    const all: Discrepancy[] = [];
    let after: string | undefined;
    do {
      const answer = await listDiscrepancies(open.tools.db, listDiscrepanciesRequest.parse({ limit: 500, after, ...filter }));
      all.push(...answer.items);
      after = answer.next;
    } while (after !== undefined);
    return all;
  };
  /** A window of a few leads around one. */
  const around = (eventId: string | undefined) => {
    const at = world.leads.find(({ event }) => event.event_id === eventId)?.event.submitted_at.getTime() ?? 0;
    return { from: new Date(at - 50).toISOString(), to: new Date(at + 50).toISOString() };
  };
  const lookups = async () => ((await world.crm.call('GET /crm/stats')).body as { lookups: number }).lookups;

  /** By class and aspect, what each is about. */
  function grouped(items: readonly Discrepancy[], planted: Planted): Planted {
    const groups: Planted = new Map();
    for (const item of items) {
      const name = item.aspect === undefined ? item.class : `${item.class}/${item.aspect}`;
      const byRecord = [...(planted.get(name) ?? [])].includes(item.ref ?? '');
      groups.set(name, (groups.get(name) ?? new Set()).add(byRecord ? (item.ref ?? '') : (item.event_id ?? '')));
    }
    return groups;
  }

  it(
    'names nothing the first time: what is absent may only be late',
    async () => {
      const run = await compare();
      expect(run).toMatchObject({ state: 'finished', counts: { compared: leads, unconfirmed: each }, resumed: 0 });
      expect(await found()).toEqual([]);
    },
    patienceMs,
  );

  it(
    'finds every planted fault of each kind and no other, and says nothing new the next time',
    async () => {
      const planted = await plant(world, each);
      const run = await compare();
      expect(run.state).toBe('finished');
      const first = await found();
      expect(grouped(first, planted)).toEqual(planted);
      expect(first).toHaveLength(each * planted.size);
      for (const item of first) {
        expect(item).toMatchObject({
          owner: expect.stringMatching(/\w/),
          next_step: expect.stringMatching(/\w/),
          urgency: expect.any(String),
        });
      }
      const repairs = new Set(
        first.filter(({ repair }) => repair !== undefined).map((one) => `${one.class} ${one.aspect ?? ''} ${one.repair}`),
      );
      expect(repairs).toEqual(new Set(['missing  create', 'deleted  create', 'content_conflict value update', 'told_nobody  tell']));
      expect(JSON.stringify(first)).not.toMatch(/an older message|5550199|@example/);
      callsOfAll = (await compare()).calls;
      const second = await found();
      expect(second.map(({ discrepancy_id }) => discrepancy_id)).toEqual(first.map(({ discrepancy_id }) => discrepancy_id));
      expect(await found({})).toHaveLength(first.length);
    },
    patienceMs,
  );

  it(
    'keeps what a person accepted, closes what is right again, and opens what comes back',
    async () => {
      const [accepted, mended] = (await found({ class: 'content_conflict', state: 'open' })).filter(({ aspect }) => aspect === 'status');
      const settled = [{ discrepancy_id: accepted?.discrepancy_id ?? '', state: 'accepted' as const, by: 'bob', reason: 'old pipeline' }];
      expect((await settleDiscrepancies(open.tools.db, { items: settled })).items).toMatchObject([{ settled: true, state: 'accepted' }]);
      await world.crm.call(`PATCH /crm/control/records/${mended?.ref}`, { status: 'new' });
      await compare(around(accepted?.event_id));
      await compare(around(mended?.event_id));
      const states = async () =>
        (await found({ ids: [accepted?.discrepancy_id, mended?.discrepancy_id] })).map(({ discrepancy_id, state }) => [
          discrepancy_id,
          state,
        ]);
      expect(new Map((await states()) as [string, string][])).toEqual(
        new Map([
          [accepted?.discrepancy_id, 'accepted'],
          [mended?.discrepancy_id, 'gone'],
        ]),
      );
      await world.crm.call(`PATCH /crm/control/records/${mended?.ref}`, { status: 'archived' });
      await compare(around(mended?.event_id));
      expect(Object.fromEntries(await states())).toMatchObject({ [mended?.discrepancy_id ?? '']: 'open' });
    },
    patienceMs,
  );

  it(
    'looks again by schedule at what is open, whenever it was submitted',
    async () => {
      const [mended] = (await found({ class: 'content_conflict', state: 'open' })).filter(({ aspect }) => aspect === 'status');
      await world.crm.call(`PATCH /crm/control/records/${mended?.ref}`, { status: 'new' });
      const longAgo = { from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' };
      const openLeads = new Set((await found()).map(({ event_id }) => event_id)).size;
      expect((await compare(longAgo)).counts.compared).toBe(0);
      const { counts } = await compare({ ...longAgo, by: 'schedule' });
      expect(counts.compared).toBeGreaterThan(0);
      expect(counts.compared).toBeLessThanOrEqual(openLeads);
      expect(await found({ ids: [mended?.discrepancy_id] })).toMatchObject([{ state: 'gone' }]);
    },
    patienceMs,
  );

  it(
    'compares a part by campaign and outcome, and leaves out who was erased',
    async () => {
      const [first] = world.leads;
      world.erased.add(first?.event.lead_ref ?? '');
      const to = world.leads[100]?.event.submitted_at.toISOString();
      const run = await compare({ campaign: 'autumn', outcome: 'delivered', to });
      const elsewhere = [...placesOf('late', { leads, each }), ...placesOf('possible_manual_twin', { leads, each })];
      expect(run.counts.compared).toBe(50 - 1 - elsewhere.filter((n) => n % 2 === 0 && n < 100).length);
      world.erased.clear();
    },
    patienceMs,
  );

  it(
    'goes on after a killed process, and asks the CRM for no more than what was left and one page',
    async () => {
      await runner.stop();
      const mortal = new MortalDatabase(await openReconcilerDatabase(world.databaseUrl));
      const doomed = await openTools(world, mortal);
      const killed = new Runner({ tools: doomed.tools, pollMs: 50 });
      const runId = await start();
      const at = await lookups();
      killed.start();
      await eventually(async () => expect((await runOf(runId)).counts.compared).toBeGreaterThanOrEqual(leads / 2), patienceMs);
      mortal.die();
      // Its page in hand may still ask; then nothing it was told comes back.
      const quiet = await settledLookups();
      const done = (await runOf(runId)).calls;
      runner = new Runner({ tools: open.tools, pollMs: 50 });
      runner.start();
      const run = await ended(runId);
      expect(run).toMatchObject({ state: 'finished', resumed: 1 });
      expect(done).toBeGreaterThan(0);
      expect((await lookups()) - quiet).toBeLessThanOrEqual(callsOfAll - done);
      expect(quiet - at - done).toBeLessThanOrEqual(4);
    },
    patienceMs,
  );

  async function settledLookups(): Promise<number> {
    let last = -1;
    return eventually(async () => {
      const now = await lookups();
      const isQuiet = now === last;
      last = now;
      expect(isQuiet).toBe(true);
      return now;
    });
  }

  it('stops when it is told to, and says who said so', async () => {
    await runner.stop();
    const runId = await start();
    expect(await stopRun(open.tools.db, { run_id: runId, by: 'bob' })).toEqual({ stopped: true });
    expect(await stopRun(open.tools.db, { run_id: runId, by: 'bob' })).toEqual({ stopped: false });
    expect(await runOf(runId)).toMatchObject({ state: 'stopped', reason: 'stopped by bob' });
  });
});
