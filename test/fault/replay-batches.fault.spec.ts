import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { testSize } from '#testkit';
import { eventually } from '../support/eventually.js';
import { BatchClient, type BatchReport, deadLeads } from '../support/replay-batches.js';
import { type OpenStack, openStack } from '../support/stack.js';

/** Replays in bulk while their runner is killed and while they are stopped: each item is applied once at the CRM, or not at all and says so. */
const count = testSize() === 'long' ? 10_000 : 500;
const rate_per_s = 200;
const limitMs = 120_000 + count * 60;

let open: OpenStack;
let client: BatchClient;

beforeAll(async () => {
  open = await openStack({ env: { SWEEP_MS: '1000' } });
  client = new BatchClient(open);
}, 300_000);

afterAll(async () => {
  await open?.close();
}, 60_000);

const until = (batchId: string, what: (report: BatchReport) => boolean): Promise<BatchReport> =>
  eventually(async () => {
    const report = await client.report(batchId);
    if (!what(report)) throw new Error(JSON.stringify(report));
    return report;
  }, limitMs);

/** Requests for the lead operation of each, at the CRM. */
async function leadCalls(ids: readonly string[]): Promise<number[]> {
  const calls: number[] = [];
  for (const id of ids) {
    const answer = await fetch(`${open.endpoints().sandboxCrm}/calls?external_id=${id}`);
    calls.push(((await answer.json()) as { lead: number }).lead);
  }
  return calls;
}

it('applies every item once although its runner is killed again and again', async () => {
  const ids = await deadLeads(open, client, { count, prefix: 'killed' });
  const { batch_id } = await client.approved({
    // Nothing else has failed here yet.
    filter: { destination: 'sandbox-crm' },
    max: count,
    rate_per_s,
    concurrency: 200,
  });
  const before = (await open.sandbox.crmStats()).lookups;
  await until(batch_id, ({ canary }) => canary.verified === canary.size && canary.size > 0);
  expect((await open.sandbox.crmStats()).lookups).toBeGreaterThan(before);
  for (const share of [0.2, 0.4, 0.6]) {
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
  expect((await client.items(batch_id))[0]?.operation_keys.at(-1)).toMatch(/:sandbox-crm:lead$/);
}, 900_000);

it('stopped half-way applies nothing more, and says of every item what became of it', async () => {
  const ids = (await deadLeads(open, client, { count: Math.min(count, 500), prefix: 'stopped' })).slice(0, 500);
  const { batch_id } = await client.approved({ filter: { destination: 'sandbox-crm', event_ids: ids }, rate_per_s, concurrency: 200 });
  await until(batch_id, ({ counts }) => (counts.sent ?? 0) >= 200);
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
  const next = await client.approved({ filter: { destination: 'sandbox-crm', event_ids: by('stopped') }, rate_per_s });
  await until(next.batch_id, ({ state }) => state === 'finished');
  const after = await open.sandbox.leadCounts();
  expect(ids.filter((id) => after.get(id) !== 1)).toEqual([]);
  expect(await open.sandbox.crmStats()).toMatchObject({ duplicateEffects: 0 });
}, 900_000);
