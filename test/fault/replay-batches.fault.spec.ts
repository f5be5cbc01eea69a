import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { testSize } from '#testkit';
import { paceOf } from '../../apps/operator/test/pace-of.js';
import { eventually } from '../support/eventually.js';
import { BatchClient, type BatchItem, type BatchReport, deadLeads, inWaves } from '../support/replay-batches.js';
import { closeMs, type OpenStack, openStack } from '../support/stack.js';

/** Replays in bulk while their runner is killed and while they are stopped: each item is applied once at the CRM, or not at all and says so. */
const long = testSize() === 'long';
const count = long ? 10_000 : 500;
const rate_per_s = 200;
/** At the small size so slow that what three kills delay can be made up for before the end, as at the large one. */
const killedRate = long ? rate_per_s : 8;
const killedAt = [0.1, 0.25, 0.4];
/** Room enough that only the rate decides what goes out. */
const concurrency = 2_000;
const limitMs = 120_000 + count * 60;
const testMs = 600_000 + count * 200;

let open: OpenStack;
let client: BatchClient;

beforeAll(async () => {
  open = await openStack({ env: { SWEEP_MS: '1000' } });
  client = new BatchClient(open);
}, 300_000);

afterAll(async () => {
  await open?.close();
}, closeMs);

const until = (batchId: string, what: (report: BatchReport) => boolean): Promise<BatchReport> =>
  eventually(async () => {
    const report = await client.report(batchId);
    if (!what(report)) throw new Error(JSON.stringify(report));
    return report;
  }, limitMs);

/** Requests for the lead operation of each, at the CRM. */
const leadCalls = (ids: readonly string[]): Promise<number[]> =>
  inWaves(ids, async (id) => {
    const answer = await fetch(`${open.endpoints().sandboxCrm}/calls?external_id=${id}`);
    return ((await answer.json()) as { lead: number }).lead;
  });

/** By the times that stand at the items, so that a slow machine is none of it unless it carries less than the rate: then that is said. */
function expectPace(items: readonly BatchItem[], rate: number): void {
  const pace = paceOf(items);
  const said = JSON.stringify(pace);
  console.log(`pace at ${rate} items a second: ${said}`);
  if (pace.underWay >= concurrency) throw new Error(`This machine cannot carry ${rate} items a second: ${said}`);
  // At twice the rate what is left after the last kill takes half of its time.
  const madeUpMs = ((1 - (killedAt.at(-1) ?? 0)) * count * 500) / rate;
  if (pace.standstillMs > madeUpMs) throw new Error(`This machine starts the runner again too slowly to make up for it: ${said}`);
  if (pace.rate < 0.98 * rate || pace.rate > 1.02 * rate) throw new Error(`Not ${rate} items a second: ${said}`);
  if (pace.busiestSecond > 2 * rate) throw new Error(`More than twice ${rate} items within a second: ${said}`);
}

it(
  'applies every item once, and keeps its rate over the whole, although its runner is killed again and again',
  async () => {
    const ids = await deadLeads(open, client, { count, prefix: 'killed' });
    const before = (await open.sandbox.crmStats()).lookups;
    const { batch_id } = await client.approved({
      // Nothing else has failed here yet.
      filter: { destination: 'sandbox-crm' },
      max: count,
      rate_per_s: killedRate,
      concurrency,
    });
    await until(batch_id, ({ canary }) => canary.verified === canary.size && canary.size > 0);
    expect((await open.sandbox.crmStats()).lookups).toBeGreaterThan(before);
    for (const share of killedAt) {
      await until(batch_id, ({ counts }) => (counts.sent ?? 0) >= share * count);
      await open.stack.kill('operator');
      await open.stack.ready('operator');
    }
    const done = await until(batch_id, ({ state }) => ['finished', 'stopped', 'paused'].includes(state));
    expect(done).toMatchObject({ state: 'finished', counts: { approved: count, sent: count, succeeded: count, open: 0 } });
    const counts = await open.sandbox.leadCounts();
    expect(ids.filter((id) => counts.get(id) !== 1)).toEqual([]);
    // One refused call before, one by the item.
    expect((await leadCalls(ids)).every((calls) => calls === 2)).toBe(true);
    const items = await client.items(batch_id);
    expect(items[0]?.operation_keys.at(-1)).toMatch(/:sandbox-crm:lead$/);
    expectPace(items, killedRate);
  },
  testMs,
);

it(
  'stopped half-way applies nothing more, and says of every item what became of it',
  async () => {
    const filter = { destination: 'sandbox-crm', submitted_from: new Date().toISOString() };
    const ids = await deadLeads(open, client, { count, prefix: 'stopped' });
    const caps = { max: count, rate_per_s, concurrency };
    const { batch_id } = await client.approved({ filter, ...caps });
    await until(batch_id, ({ counts }) => (counts.sent ?? 0) >= count / 2);
    await client.done('operator', `/v1/batches/${batch_id}/stop`, { reason: 'wrong list' });
    const stopped = await until(batch_id, ({ state, counts }) => state === 'stopped' && counts.open === 0);
    const items = await client.items(batch_id);
    const by = (state: string): string[] => items.filter((item) => item.state === state).map(({ event_id }) => event_id);
    expect(by('succeeded').length + by('stopped').length).toBe(ids.length);
    expect(by('stopped').length).toBeGreaterThan(0);
    expect(stopped).toMatchObject({ why: { code: 'by_person', detail: 'wrong list' } });
    const counts = await open.sandbox.leadCounts();
    expect(by('succeeded').filter((id) => counts.get(id) !== 1)).toEqual([]);
    expect(by('stopped').filter((id) => counts.has(id))).toEqual([]);
    expect((await leadCalls(by('stopped'))).every((calls) => calls === 1)).toBe(true);

    // What was left is free for the next batch, and a batch that ended is not begun again.
    const again = await client.ask<{ type: string }>('approver', `/v1/batches/${batch_id}/approve`, { hash: stopped.hash });
    expect(again).toMatchObject({ status: 409, json: { type: 'urn:lead-delivery:problem:batch-ended' } });
    const next = await client.approved({ filter, ...caps });
    expect((await client.report(next.batch_id)).counts.approved).toBe(by('stopped').length);
    await until(next.batch_id, ({ state }) => state === 'finished');
    const after = await open.sandbox.leadCounts();
    expect(ids.filter((id) => after.get(id) !== 1)).toEqual([]);
    expect(await open.sandbox.crmStats()).toMatchObject({ duplicateEffects: 0 });
  },
  testMs,
);
