import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Discrepancy, listDiscrepanciesRequest, type ReconcileRun } from '#delivery';
import { InternalUnavailable, type ReconcileConfig } from '#runtime';
import { testSize } from '#testkit';
import { MortalDatabase } from '../../../../test/support/delivery-rig.js';
import { eventually } from '../../../../test/support/eventually.js';
import type { MadeLead } from '../../../../test/support/reconcile/leads.js';
import { type OpenTools, openReconcilerDatabase, openTools } from '../../../../test/support/reconcile/open-tools.js';
import { type Planted, placesOf, plant } from '../../../../test/support/reconcile/plant.js';
import { openWorld, typeIn, type World } from '../../../../test/support/reconcile/world.js';
import { listDiscrepancies } from '../discrepancies/list-discrepancies.js';
import { settleDiscrepancies } from '../discrepancies/settle-discrepancies.js';
import { listRuns } from './list-runs.js';
import { Runner } from './runner.js';
import { startRun, stopRun } from './start-run.js';
import type { RunTools } from './tools.js';

const leads = testSize() === 'long' ? 100_000 : 2_500;
const each = 10;
const page = 200;
const patienceMs = 240_000;

describe('comparing with a CRM', () => {
  let world: World;
  let open: OpenTools;
  let runner: Pick<Runner, 'stop'>;
  let window: { from: string; to: string };

  beforeAll(async () => {
    world = await openWorld({ leads, page, dropped: placesOf('missing', { leads, each }) });
    open = await openTools(world);
    runner = started(open.tools);
    window = { from: new Date(Date.now() - 6 * 3_600_000).toISOString(), to: new Date(Date.now() + 3_600_000).toISOString() };
  }, patienceMs);
  afterAll(async () => {
    await runner?.stop();
    await open?.close();
    await world?.close();
  });

  /** A process at work. */
  function started(tools: RunTools): Runner {
    const one = new Runner({ tools, pollMs: 50 });
    one.start();
    return one;
  }
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

  const longAgo = { from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' };

  it(
    'names by schedule what two looks missed, though the second window begins after the lead',
    async () => {
      expect((await compare({ ...longAgo, by: 'schedule' })).counts).toMatchObject({ compared: each, missing: each });
      const lost = placesOf('missing', { leads, each }).map((n) => world.leads[n]?.event.event_id);
      expect((await found()).map(({ event_id }) => event_id).sort()).toEqual(lost.sort());
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
      await compare();
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
      const openLeads = new Set((await found()).map(({ event_id }) => event_id)).size;
      expect((await compare(longAgo)).counts.compared).toBe(0);
      const { counts } = await compare({ ...longAgo, by: 'schedule' });
      expect(counts.compared).toBeGreaterThan(0);
      expect(counts.compared).toBeLessThanOrEqual(openLeads);
      expect(await found({ ids: [mended?.discrepancy_id] })).toMatchObject([{ state: 'gone' }]);
    },
    patienceMs,
  );

  describe('what happens long after a lead was delivered', () => {
    const nobodysPlace = (n: number) => world.leads[n + 8] as MadeLead;
    const [typed, copied, edited, unowned, moved] = [10, 20, 30, 40, 50];
    const changesFrom = (fromMs: number) => ({
      from: new Date(fromMs).toISOString(),
      to: new Date(Date.now() + 3_600_000).toISOString(),
    });
    const edit = (ref: string, fields: object) => world.crm.call(`PATCH /crm/control/records/${ref}?by=other`, fields);
    const nameOf = ({ class: name, aspect, event_id, ref }: Discrepancy) => `${name} ${aspect} ${event_id} ${ref}`;
    const openIn = async (runId: string) => (await found({ state: 'open', run_id: runId })).map(nameOf).sort();

    it(
      'is found by what the CRM says that it changed, of leads, of persons and of copies, and nothing else is',
      async () => {
        const fromMs = Date.now();
        const copy = ((await world.crm.call(`POST /crm/control/records/${nobodysPlace(copied).leadRef}/copy`, {})).body as { id: string })
          .id;
        await edit(nobodysPlace(edited).contactRef, { phone: '+12025550199' });
        await edit(nobodysPlace(unowned).leadRef, { owner: null });
        await edit(nobodysPlace(moved).leadRef, { status: 'archived' });
        await edit(nobodysPlace(moved + 10).leadRef, { status: 'contacted' });
        const run = await compare(changesFrom(fromMs));
        const named = [
          `duplicate undefined ${nobodysPlace(copied).event.event_id} ${copy}`,
          // The person's later lead answers for the fields that it wrote.
          `content_conflict human_change ${world.leads[edited + 9]?.event.event_id} ${nobodysPlace(edited).contactRef}`,
          `relationship assigned_without_owner ${nobodysPlace(unowned).event.event_id} ${nobodysPlace(unowned).leadRef}`,
          `content_conflict status ${nobodysPlace(moved).event.event_id} ${nobodysPlace(moved).leadRef}`,
        ];
        expect(await openIn(run.run_id)).toEqual(named.sort());
        expect(run.counts.compared).toBe(5);
        await edit(nobodysPlace(moved).leadRef, { status: 'new' });
        const again = await compare(changesFrom(fromMs));
        expect(await openIn(again.run_id)).toEqual(named.filter((name) => !name.includes(' status ')).sort());
      },
      patienceMs,
    );

    it(
      'does not end a possible twin: it is one for good once its lead is delivered, until that is discarded or the record gone',
      async () => {
        const lead = nobodysPlace(typed);
        const fromMs = Date.now();
        const sql = (state: string) =>
          world.deliveries.sql(`spec.twin_${state}`, `UPDATE delivery SET state = '${state}' WHERE event_id = $1`, [lead.event.event_id]);
        const twins = async (more: object) => {
          await compare(more);
          const all = await found({ class: 'possible_manual_twin' });
          return all.filter(({ event_id }) => event_id === lead.event.event_id).map(({ state, evidence }) => [state, evidence.lead_state]);
        };
        const whole = { from: window.from, to: new Date(Date.now() + 3_600_000).toISOString() };
        await sql('waiting');
        const [ref = ''] = await typeIn(world.crm, 'lead', [{ contact_id: lead.contactRef, message: 'rang us up' }], 'other');
        expect(await twins(whole)).toEqual([['open', 'waiting']]);
        await sql('delivered');
        expect(await twins(changesFrom(fromMs))).toEqual([['open', 'delivered']]);
        await sql('discarded');
        expect(await twins({ ...longAgo, by: 'schedule' })).toEqual([['gone', 'delivered']]);
        await sql('waiting');
        expect(await twins(whole)).toEqual([['open', 'waiting']]);
        await sql('delivered');
        expect(await twins({ ...longAgo, by: 'schedule' })).toEqual([['open', 'delivered']]);
        await world.crm.call(`DELETE /crm/control/records/${ref}`);
        expect(await twins({ ...longAgo, by: 'schedule' })).toEqual([['gone', 'delivered']]);
      },
      patienceMs,
    );
  });

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
      const callsOfAll = (await compare()).calls;
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
      runner = started(open.tools);
      const run = await ended(runId);
      expect(run).toMatchObject({ state: 'finished', resumed: 1 });
      expect(done).toBeGreaterThan(0);
      expect((await lookups()) - quiet).toBeLessThanOrEqual(callsOfAll - done);
      expect(quiet - at - done).toBeLessThanOrEqual(4);
      // It would work on for ever, unheard.
      const stopped = killed.stop();
      await doomed.close();
      await stopped;
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

  /** The tools of a process whose site file says this of the comparison. */
  const toolsWith = (reconcile: Partial<ReconcileConfig>): RunTools => {
    const { crm } = open.tools.site.destinations;
    if (crm?.reconcile === undefined) throw new Error('the CRM is not compared');
    return {
      ...open.tools,
      site: { ...open.tools.site, destinations: { crm: { ...crm, reconcile: { ...crm.reconcile, ...reconcile } } } },
    };
  };
  const runWith = async (...tools: RunTools[]): Promise<void> => {
    await runner.stop();
    const runners = tools.map(started);
    runner = { stop: async () => void (await Promise.all(runners.map((one) => one.stop()))) };
  };

  it(
    'asks a CRM for nothing while leads want it, or while nobody can say whether they do',
    async () => {
      let busy: () => Promise<string | undefined> = () => Promise.resolve('backlog');
      await runWith({ ...open.tools, traffic: { busy: () => busy() } });
      const at = await lookups();
      const runId = await start(around(world.leads[0]?.event.event_id));
      const waitsFor = (reason: string) =>
        eventually(async () => expect(await runOf(runId)).toMatchObject({ state: 'running', reason, counts: { compared: 0 } }));
      await waitsFor('backlog');
      busy = () => Promise.reject(new Error('away'));
      await waitsFor('its state cannot be read');
      expect(await lookups()).toBe(at);
      busy = () => Promise.resolve(undefined);
      const { state, counts } = await ended(runId);
      expect([state, counts.compared]).toEqual(['finished', 5]);
      expect(await lookups()).toBeGreaterThan(at);
    },
    patienceMs,
  );

  it(
    'begins so much before its window as the search of the CRM may lag behind',
    async () => {
      const last = world.leads.at(-1)?.event.submitted_at.getTime() ?? 0;
      const [overlapMs, fromMs] = [300_000, last + 299_000];
      const after = { from: new Date(fromMs).toISOString(), to: new Date(fromMs + 1_000).toISOString() };
      await runWith(toolsWith({ overlapMs: 0 }));
      expect((await compare(after)).counts.compared).toBe(0);
      await runWith(toolsWith({ overlapMs }));
      const inOverlap = world.leads.filter(({ event }) => event.submitted_at.getTime() >= fromMs - overlapMs);
      expect(inOverlap.length).toBeGreaterThan(0);
      expect((await compare(after)).counts.compared).toBe(inOverlap.length);
    },
    patienceMs,
  );

  it(
    'compares by itself as often as the site file says, once, however many processes look at the time',
    async () => {
      await runner.stop();
      await open.tools.db.sql('spec.forget_schedule', `DELETE FROM run WHERE by_whom = 'schedule'`, []);
      const hourly = toolsWith({ everyMs: 3_600_000, windowMs: 60_000 });
      const scheduled = async () =>
        (await listRuns(open.tools.db, { destination: 'crm', limit: 500 })).items.filter(({ by }) => by === 'schedule');
      const begunMs = Date.now();
      await runWith(hourly, hourly);
      const [first] = await eventually(async () => {
        const runs = await scheduled();
        expect(runs).toMatchObject([{ state: 'finished' }]);
        return runs;
      }, patienceMs);
      expect(Date.parse(first?.to ?? '') - Date.parse(first?.from ?? '')).toBe(60_000);
      expect(Date.parse(first?.created_at ?? '')).toBeGreaterThanOrEqual(begunMs - 1_000);
      // Whoever takes this one has looked at the time first.
      for (let run = 0; run < 3; run += 1) await compare(around(world.leads[0]?.event.event_id));
      expect(await scheduled()).toHaveLength(1);
    },
    patienceMs,
  );

  it(
    'does not stay for ever with a page that another service has no answer for, and is free for the next run then',
    async () => {
      const deliveries = () => Promise.reject(new InternalUnavailable('500'));
      await runWith({ ...open.tools, onePageMs: 1_500, sources: { ...open.tools.sources, deliveries } });
      const { state, reason } = await compare(around(world.leads[0]?.event.event_id));
      expect([state, reason]).toEqual(['failed', 'another service did not answer for the same page for too long']);
      await runWith(open.tools);
      expect((await compare(around(world.leads[0]?.event.event_id))).state).toBe('finished');
    },
    patienceMs,
  );

  it('stops when it is told to, and says who said so', async () => {
    await runner.stop();
    const runId = await start();
    expect(await stopRun(open.tools.db, { run_id: runId, by: 'bob' })).toEqual({ stopped: true });
    expect(await stopRun(open.tools.db, { run_id: runId, by: 'bob' })).toEqual({ stopped: false });
    expect(await runOf(runId)).toMatchObject({ state: 'stopped', reason: 'stopped by bob' });
  });
});
