import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { headers } from '#contracts';
import { type Database, InternalUnavailable } from '#runtime';
import { eventually, type TestDatabase, testDatabase } from '#testkit';
import { paceOf } from '../../test/pace-of.js';
import { openReplayRig, personOf, type ReplayRig, replayOf } from '../../test/replay-rig.js';
import { openOperatorDatabase } from '../../test/rig.js';
import { approveBatchRequest } from './approve-batch.js';
import { BatchDesk } from './batch-desk.js';
import { expireBatches } from './expire-batches.js';
import { draftRequest, editRequest } from './filter.js';
import { BatchRunner } from './runner/batch-runner.js';
import { keepDueHistories } from './runner/keep-histories.js';

jest.setTimeout(60_000);

const author = personOf('author');
const approver = personOf('approver');

let database: TestDatabase;
let db: Database;
let rig: ReplayRig;
let desk: BatchDesk;
let runners: BatchRunner[] = [];

beforeAll(async () => {
  database = await testDatabase('operator_batches');
  db = await openOperatorDatabase(database.url);
  rig = openReplayRig(db);
});
afterAll(async () => {
  await db?.close();
  await database?.drop();
});
beforeEach(async () => {
  await rig.clear();
  destinationSays();
  desk = new BatchDesk(rig.tools, () => runners.forEach((runner) => void runner.wake()));
});
afterEach(async () => {
  await Promise.all(runners.map((runner) => runner.stop()));
  runners = [];
});

const startRunner = () => {
  const runner = new BatchRunner(rig.tools);
  runners.push(runner);
  runner.start();
  return runner;
};
const draft = (changes: Record<string, unknown> = {}, person = author) =>
  desk.draft(draftRequest.parse({ filter: { destination: 'crm' }, reason: 'mended', rate_per_s: 500, ...changes }), person);
const approve = (batchId: string, hash: string, more: Record<string, unknown> = {}, person = approver) =>
  desk.approve(batchId, approveBatchRequest.parse({ hash, ...more }), person);
/** Draft, dry run and approval. */
const approved = async (changes: Record<string, unknown> = {}) => {
  const { batch_id } = await draft(changes);
  const { hash } = await desk.check(batch_id, author);
  await approve(batch_id, hash);
  return batch_id;
};
const many = async (count: number, failure?: string) => {
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1)
    ids.push(await rig.dead({ submitted_at: new Date(Date.now() - (count - made) * 1_000) }, failure));
  return ids;
};
const report = (batchId: string) => desk.report(batchId, author);
const states = async (batchId: string) => (await desk.items(batchId, { after: 0, limit: 500 }, author)).items.map(({ state }) => state);
/** Gives records to the owner until the batch is in that state. */
/** `delivers`: what is sent meanwhile arrives. */
const until = (batchId: string, state: string, { delivers = true } = {}) =>
  eventually(
    `the batch to be ${state}`,
    async () => {
      if (delivers) await rig.deliver();
      const now = await report(batchId);
      return now.state === state ? now : undefined;
    },
    { timeoutMs: 30_000 },
  );
const destinationSays = (reason?: 'hold' | 'throttled' | 'failing') => {
  rig.owner.destinations = async () => ({
    items: [{ destination: 'crm', mode: reason === undefined ? 'flowing' : 'blocked', reason, cool_downs: 0, as_of: '' }],
  });
};
const refusedAs = (type: string) =>
  expect.objectContaining({ problem: expect.objectContaining({ type: `urn:lead-delivery:problem:${type}` }) });

describe('a draft', () => {
  it('freezes what its filter finds, oldest first, under a hash of its own', async () => {
    const ids = await many(3);
    await rig.dead({}, 'auth');
    const made = await draft({ filter: { class: 'attempts_exhausted' } });
    await rig.dead();
    expect(made).toMatchObject({ state: 'draft', items: 3, hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    const { items } = await desk.items(made.batch_id, { after: 0, limit: 10 }, author);
    expect(items.map(({ event_id }) => event_id)).toEqual(ids);
    expect((await draft({ filter: { class: 'attempts_exhausted' }, max: 3 })).hash).not.toBe(made.hash);
    expect(await report(made.batch_id)).toMatchObject({ state: 'draft', author: 'author', approver: null, counts: { items: 3, open: 0 } });
  });

  it.each<[string, Record<string, unknown>]>([
    ['code', { code: 'http_503' }],
    ['organization', { organization: 'demo' }],
    ['source', { source: 'website' }],
    ['form', { form: 'contact' }],
    ['time of submission', { submitted_from: '2020-01-01T00:00:00Z', submitted_to: '2100-01-01T00:00:00Z' }],
    ['time of death', { dead_from: '2020-01-01T00:00:00Z', dead_to: '2100-01-01T00:00:00Z' }],
  ])('selects by %s', async (_name, filter) => {
    await rig.dead();
    expect((await draft({ filter })).items).toBe(1);
    const none = Object.fromEntries(
      Object.keys(filter).map((name) => [name, name.endsWith('_to') || name.endsWith('_from') ? '2019-01-01T00:00:00Z' : 'other']),
    );
    await expect(draft({ filter: none })).rejects.toEqual(refusedAs('nothing-selected'));
  });

  it('holds only what its author may see, and is there for nobody who may not see all of it', async () => {
    await rig.dead({ organization: 'demo' });
    await rig.dead({ organization: 'other' });
    const demo = personOf('demo', { organizations: ['demo'] });
    const own = await draft({}, demo);
    expect(own.items).toBe(1);
    const all = await draft();
    await expect(desk.report(all.batch_id, demo)).rejects.toEqual(refusedAs('not-found'));
    await expect(desk.items(all.batch_id, { after: 0, limit: 1 }, demo)).rejects.toEqual(refusedAs('not-found'));
    await expect(desk.csv(all.batch_id, demo)).rejects.toEqual(refusedAs('not-found'));
    await expect(desk.check(all.batch_id, demo)).rejects.toEqual(refusedAs('not-found'));
    await expect(approve(all.batch_id, all.hash, {}, demo)).rejects.toEqual(refusedAs('not-found'));
    await expect(desk.command('stop', { batchId: all.batch_id, person: demo })).rejects.toEqual(refusedAs('not-found'));
    await expect(desk.edit(all.batch_id, editRequest.parse({ rate_per_s: 1 }), demo)).rejects.toEqual(refusedAs('not-found'));
    expect((await desk.list({ limit: 10 }, demo)).items.map(({ batch_id }) => batch_id)).toEqual([own.batch_id]);
    expect((await desk.list({ limit: 10 }, author)).items).toHaveLength(2);
  });

  it.each([
    [{ filter: {} }],
    [{ filter: { everything: true } }],
    [{ filter: { event_ids: Array.from({ length: 1_001 }, () => '0189b6a0-0000-7000-8000-000000000000') } }],
    [{ filter: { destination: 'x'.repeat(513) } }],
    [{ max: 100_001 }],
    [{ rate_per_s: 0 }],
    [{ rate_per_s: 1_001 }],
    [{ canary: 9 }],
    [{ canary: 51 }],
    [{ new_deadline: '25h' }],
    [{ reason: ' ' }],
    [{ reason: 'ring +1 202 555 0123' }],
    [{ select: { destination: 'crm' } }],
    [{ author: 'eve' }],
  ])('that oversteps a limit or says too much is refused (%#)', (changes) => {
    expect(draftRequest.safeParse({ filter: { destination: 'crm' }, reason: 'mended', ...changes }).success).toBe(false);
  });

  it('is not made while the owner cannot be asked', async () => {
    await rig.dead();
    rig.replays.down = true;
    await expect(draft()).rejects.toBeInstanceOf(InternalUnavailable);
    expect(await rig.sql('SELECT FROM replay_batch')).toEqual([]);
  });
});

describe('a dry run', () => {
  const check = async () => {
    const { batch_id } = await draft();
    const checked = await desk.check(batch_id, author);
    const { items } = await desk.items(batch_id, { after: 0, limit: 500 }, author);
    return { checked, items };
  };

  it('counts its verdicts, sends nothing and reserves nothing', async () => {
    await many(3);
    const delivered = await rig.dead();
    rig.replays.delivery(delivered).facts.state = 'delivered';
    const { checked, items } = await check();
    expect(checked).toMatchObject({ state: 'checked', items: 4, verdicts: { eligible: 3, already_at_destination: 1 } });
    expect(items.every(({ state }) => state === 'listed')).toBe(true);
    expect(await rig.outbox()).toEqual([]);
  });

  it('finds at the destination what its owner believes failed', async () => {
    const silent = await rig.dead();
    await rig.dead();
    rig.replays.delivery(silent).records.push('L-9');
    const { checked, items } = await check();
    expect(checked).toMatchObject({ verdicts: { eligible: 1, already_at_destination: 1 }, lookups: { made: 2, left_out: 0 } });
    expect(items.find(({ event_id }) => event_id === silent)).toMatchObject({ verdict: 'already_at_destination', detail: 'L-9' });
  });

  it('names consent, erasure, age, a held destination and a changed request', async () => {
    const [withdrawn, gone, changed, uncertain] = [await rig.dead(), await rig.dead(), await rig.dead(), await rig.dead()];
    const old = await rig.dead({ submitted_at: new Date(Date.now() - 8 * 86_400_000) });
    rig.payloads.set(rig.replays.delivery(withdrawn).facts.lead_ref, 'withdrawn');
    rig.payloads.set(rig.replays.delivery(gone).facts.lead_ref, 'gone');
    rig.replays.delivery(uncertain).facts.state = 'uncertain';
    const { batch_id } = await draft();
    rig.replays.delivery(changed).facts.mapping_version = 2;
    await desk.check(batch_id, author);
    const said = async () => {
      const { items } = await desk.items(batch_id, { after: 0, limit: 500 }, author);
      return new Map(items.map(({ event_id, verdict }) => [event_id, verdict]));
    };
    const first = await said();
    expect([withdrawn, gone, changed, uncertain, old].map((id) => first.get(id))).toEqual([
      'consent_withdrawn',
      'erased',
      'mapping_changed',
      'uncertain',
      'expired_beyond_max_age',
    ]);
    rig.payloads.clear();
    rig.owner.destinations = async () => ({ items: [{ destination: 'crm', mode: 'blocked', reason: 'hold', cool_downs: 0, as_of: '' }] });
    await desk.check(batch_id, author);
    expect((await said()).get(withdrawn)).toBe('destination_held');
    rig.owner.destinations = async () => ({ items: [] });
  });

  it.each([
    ['crm-writer', 'erp', 'destination erp is not in the site file any more'],
    ['notifier', 'lead/support/0f0f/lead_delivered', 'channel support is not in the site file any more'],
    ['intake', 'unrouted', 'unknown_delivery'],
    ['intake', 'rejected', 'unknown_delivery'],
    ['intake', 'erp', 'destination erp is not in the site file any more'],
    ['intake', 'crm', 'intake takes no approved items'],
  ])('says of a letter of %s for %s what is in the way', async (service, destination, reason) => {
    const id = await rig.dead();
    await rig.sql('UPDATE dead_letter SET service = $1, destination = $2', [service, destination]);
    const { batch_id } = await draft({ filter: { event_ids: [id] } });
    expect((await desk.check(batch_id, author)).verdicts).toEqual({ not_replayable: 1 });
    expect((await desk.items(batch_id, { after: 0, limit: 1 }, author)).items).toMatchObject([{ detail: reason }]);
  });

  it('names the batch that has an item already', async () => {
    await many(2);
    const first = await approved();
    const { checked, items } = await check();
    expect(checked.verdicts).toEqual({ already_in_batch: 2 });
    expect(items.map(({ detail }) => detail)).toEqual([first, first]);
  });
});

describe('an approval', () => {
  it('is bound to the list that was looked at: an edit changes the hash and voids dry run and approval', async () => {
    const [one] = await many(3);
    const { batch_id } = await draft();
    const { hash } = await desk.check(batch_id, author);
    await expect(approve(batch_id, 'f'.repeat(64))).rejects.toEqual(refusedAs('stale-hash'));
    await approve(batch_id, hash);
    const edited = await desk.edit(batch_id, editRequest.parse({ exclude_event_ids: [one] }), author);
    expect(edited).toMatchObject({ state: 'draft', items: 2 });
    expect(edited.hash).not.toBe(hash);
    expect(await report(batch_id)).toMatchObject({ approver: null, approved_at: null, counts: { open: 0 } });
    await expect(approve(batch_id, hash)).rejects.toEqual(refusedAs('batch-not-checked'));
    await desk.check(batch_id, author);
    await expect(approve(batch_id, hash)).rejects.toEqual(refusedAs('stale-hash'));
    const again = await desk.edit(batch_id, editRequest.parse({ rate_per_s: 7 }), author);
    expect(again.hash).not.toBe(edited.hash);
    startRunner();
    expect(await rig.outbox()).toEqual([]);
    expect((await report(batch_id)).state).toBe('draft');
  });

  it('is refused to whoever edited the batch last, as to its author, and bound to canary and reason', async () => {
    await many(2);
    const { batch_id, hash } = await draft();
    const hashes = [hash];
    for (const edit of [{ canary: 11 }, { reason: 'mended again' }])
      hashes.push((await desk.edit(batch_id, editRequest.parse(edit), approver)).hash);
    expect(new Set(hashes).size).toBe(3);
    const checked = await desk.check(batch_id, author);
    for (const person of [author, approver])
      await expect(approve(batch_id, checked.hash, {}, person)).rejects.toEqual(refusedAs('self-approval'));
    expect(await approve(batch_id, checked.hash, {}, personOf('third'))).toMatchObject({ approver: 'third', approved: 2 });
  });

  it('is refused to the author, also under another token, and without a dry run', async () => {
    await many(1);
    const { batch_id, hash } = await draft();
    await expect(approve(batch_id, hash)).rejects.toEqual(refusedAs('batch-not-checked'));
    await desk.check(batch_id, author);
    const otherToken = personOf('author', { name: 'Another token', roles: ['approver'] });
    await expect(approve(batch_id, hash, {}, otherToken)).rejects.toEqual(refusedAs('self-approval'));
    expect(await approve(batch_id, hash)).toMatchObject({ approved: 1, approver: 'approver', canary: 1 });
  });

  it('is given once', async () => {
    await many(1);
    const { batch_id } = await draft();
    const { hash } = await desk.check(batch_id, author);
    const both = await Promise.allSettled([approve(batch_id, hash), approve(batch_id, hash, {}, personOf('third'))]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(both.find(({ status }) => status === 'rejected')).toMatchObject({ reason: refusedAs('batch-already-approved') });
    await expect(desk.check(batch_id, author)).rejects.toEqual(refusedAs('batch-already-approved'));
  });

  it('of items that another batch took names that batch, however close they come', async () => {
    await many(2);
    const batches = await Promise.all([draft(), draft(), draft()]);
    const hashes = await Promise.all(batches.map(({ batch_id }) => desk.check(batch_id, author)));
    const all = await Promise.allSettled(hashes.map(({ batch_id, hash }) => approve(batch_id, hash)));
    const [won] = all.flatMap((one) => (one.status === 'fulfilled' ? one.value.batch_id : []));
    const lost = all.flatMap((one) => (one.status === 'rejected' ? one.reason : []));
    expect(lost).toHaveLength(2);
    for (const refusal of lost) {
      expect(refusal).toEqual(refusedAs('items-in-another-batch'));
      expect(refusal.problem).toMatchObject({ batch_id: won, count: 2, detail: expect.stringContaining(String(won)) });
    }
  });

  it('expires: by its own time before the batch begins, and by the age of the dry run before it is given', async () => {
    await many(1);
    const { batch_id } = await draft();
    const { hash } = await desk.check(batch_id, author);
    await rig.sql("UPDATE replay_batch SET checked_at = checked_at - interval '61 minutes'");
    await expect(approve(batch_id, hash)).rejects.toEqual(refusedAs('dry-run-expired'));
    await desk.check(batch_id, author);
    await approve(batch_id, hash, { valid_for: '1h' });
    await desk.command('pause', { batchId: batch_id, person: approver, reason: 'wait' });
    await rig.sql("UPDATE replay_batch SET approval_expires_at = clock_now() - interval '1 second'");
    await expect(desk.command('resume', { batchId: batch_id, person: approver })).rejects.toEqual(refusedAs('approval-expired'));
    await expireBatches(db);
    expect(await report(batch_id)).toMatchObject({
      state: 'expired',
      why: { code: 'approval_expired' },
      counts: { not_applied: 1, open: 0 },
    });
    expect(await approved()).not.toBe(batch_id);
  });

  it('leaves out what a person has dismissed, before the dry run or after it', async () => {
    const [early, late, last] = await many(3);
    const dismiss = (eventId = '') =>
      db.sql('test.dismiss', `UPDATE dead_letter SET state = 'closed', closed_as = 'dismissed' WHERE event_id = $1`, [eventId]);
    const { batch_id } = await draft();
    await dismiss(early);
    const { hash, verdicts } = await desk.check(batch_id, author);
    expect(verdicts).toEqual({ eligible: 2, not_replayable: 1 });
    await dismiss(late);
    expect(await approve(batch_id, hash)).toMatchObject({ approved: 1, skipped: 2 });
    expect(await states(batch_id)).toEqual(['skipped', 'skipped', 'open']);
    const { items } = await desk.items(batch_id, { after: 0, limit: 10 }, author);
    expect(items.map(({ detail }) => detail)).toEqual(['dismissed', 'dismissed', null]);
    // By somebody who did not see the approval yet.
    await dismiss(last);
    startRunner();
    await until(batch_id, 'finished');
    const after = (await desk.items(batch_id, { after: 0, limit: 10 }, author)).items;
    expect(after.at(-1)).toMatchObject({ state: 'ended', detail: 'dismissed', sent_at: null });
  });

  it('of one person alone holds for fifty items, where the site says so', async () => {
    await many(51);
    const { batch_id } = await draft();
    const { hash } = await desk.check(batch_id, author);
    await expect(approve(batch_id, hash, { policy: 'single_operator' }, author)).rejects.toEqual(refusedAs('policy-too-large'));
    const small = await draft({ max: 50 });
    await desk.check(small.batch_id, author);
    const off = new BatchDesk({ ...rig.tools, site: { ...rig.tools.site, operator: { policies: {} } } }, () => undefined);
    const request = approveBatchRequest.parse({ hash: small.hash, policy: 'single_operator' });
    await expect(off.approve(small.batch_id, request, author)).rejects.toEqual(refusedAs('policy-off'));
    expect(await desk.approve(small.batch_id, request, author)).toMatchObject({ approved: 50, policy: 'single_operator' });
  });

  it('of nothing is refused', async () => {
    const id = await rig.dead();
    rig.replays.delivery(id).facts.state = 'waiting';
    const { batch_id } = await draft();
    const { hash } = await desk.check(batch_id, author);
    await expect(approve(batch_id, hash)).rejects.toEqual(refusedAs('nothing-eligible'));
  });
});

describe('a running batch', () => {
  it('sends its canary, looks it up at the destination, and only then the rest', async () => {
    const ids = await many(30);
    const batchId = await approved();
    const before = rig.replays.lookups;
    startRunner();
    await eventually('the canary to go out', async () => (await rig.outbox()).length === 10, { timeoutMs: 10_000 });
    expect(await report(batchId)).toMatchObject({ state: 'canary', counts: { sent: 10 }, canary: { size: 10, verified: 0 } });
    const done = await until(batchId, 'finished');
    expect(done).toMatchObject({
      counts: { approved: 30, sent: 30, succeeded: 30, open: 0 },
      canary: { size: 10, verified: 10, lookups: 10 },
      progress: 1,
    });
    expect(rig.replays.lookups - before).toBe(10);
    expect(ids.map((id) => rig.replays.delivery(id).applied)).toEqual(ids.map(() => 1));
  });

  it('sends the very record, under its old operation keys, with a permit that fits nothing else', async () => {
    const id = await rig.dead();
    await approved();
    startRunner();
    const [row] = await eventually('the record', async () => ((await rig.outbox()).length === 1 ? rig.outbox() : undefined), {
      timeoutMs: 10_000,
    });
    expect(row?.topic).toBe(replayOf);
    expect(row?.headers).toMatchObject({
      [headers.eventId]: id,
      [headers.destinations]: 'crm',
      [headers.originTopic]: 'lead.accepted',
      [headers.originOffset]: '77',
    });
    expect(Buffer.byteLength(JSON.stringify(row?.headers))).toBeLessThan(4_096);
    const { operation_keys } =
      (await desk.items((await desk.list({ limit: 1 }, author)).items[0]?.batch_id ?? '', { after: 0, limit: 1 }, author)).items[0] ?? {};
    expect(operation_keys).toEqual([`${id}:crm:contact`, `${id}:crm:lead`]);
  });

  it('is run by one of two runners, and taken over from one that died', async () => {
    await many(40);
    const batchId = await approved({ concurrency: 5 });
    startRunner();
    startRunner();
    await eventually('some items to go out', async () => (await rig.deliver()) > 0, { timeoutMs: 10_000 });
    const owners = async () => rig.sql<{ lease_owner: string }>('SELECT lease_owner FROM replay_batch WHERE batch_id = $1', [batchId]);
    const first = (await owners())[0]?.lease_owner;
    // Whoever had it is gone without a word: another's lease that is not renewed.
    await rig.sql(
      "UPDATE replay_batch SET lease_owner = gen_random_uuid(), lease_until = clock_now() + interval '2 seconds' WHERE batch_id = $1",
      [batchId],
    );
    const sent = (await report(batchId)).counts.sent;
    const done = await until(batchId, 'finished');
    expect(sent).toBeLessThan(40);
    expect(done.counts).toMatchObject({ sent: 40, succeeded: 40 });
    expect(first).toBeDefined();
    expect([...rig.replays.deliveries.values()].every(({ applied }) => applied === 1)).toBe(true);
  });

  const pacedTo = async (batchId: string) =>
    (await rig.sql<{ paced_to: Date | null }>('SELECT paced_to FROM replay_batch WHERE batch_id = $1', [batchId]))[0]?.paced_to;

  it('taken over keeps its rate over the whole, and no second has more than twice of it', async () => {
    await many(110);
    const rate_per_s = 10;
    const batchId = await approved({ rate_per_s });
    startRunner();
    await eventually('items behind the canary to go out', async () => {
      await rig.deliver();
      return (await report(batchId)).counts.sent >= 15;
    });
    await rig.sql(
      "UPDATE replay_batch SET lease_owner = gen_random_uuid(), lease_until = clock_now() + interval '3 seconds' WHERE batch_id = $1",
      [batchId],
    );
    await until(batchId, 'finished');
    const pace = paceOf((await desk.items(batchId, { after: 0, limit: 200 }, author)).items);
    expect(pace.standstillMs).toBeGreaterThan(2_000);
    // Of about eleven seconds three stood still: were they not made up for, it would be three quarters.
    expect(pace.rate).toBeGreaterThan(0.88 * rate_per_s);
    expect(pace.rate).toBeLessThan(1.12 * rate_per_s);
    expect(pace.busiestSecond).toBeLessThanOrEqual(2 * rate_per_s);
  });

  it('owes nothing for the time in which somebody paused it, or its destination took nothing', async () => {
    await many(60);
    const batchId = await approved({ rate_per_s: 5 });
    startRunner();
    const moves = () =>
      eventually('its pace to be noted', async () => {
        await rig.deliver();
        return (await pacedTo(batchId)) instanceof Date;
      });
    await until(batchId, 'running');
    await moves();
    await desk.command('pause', { batchId, person: author, reason: 'look' });
    expect(await pacedTo(batchId)).toBeNull();
    await desk.command('resume', { batchId, person: approver });
    await moves();
    destinationSays('failing');
    await eventually('its pace to be held', async () => (await pacedTo(batchId)) === null);
    expect((await report(batchId)).state).toBe('running');
    destinationSays();
    await moves();
  });

  it('keeps to its concurrency', async () => {
    await many(30);
    const batchId = await approved({ concurrency: 4 });
    rig.replays.behave = () => ({ state: 'waiting' });
    startRunner();
    await eventually('items to be under way', async () => {
      await rig.deliver();
      return (await report(batchId)).counts.open === 30 && (await report(batchId)).counts.sent >= 4;
    });
    for (let look = 0; look < 5; look += 1) {
      await rig.deliver();
      expect((await report(batchId)).counts.sent).toBe(4);
    }
    for (const one of rig.replays.deliveries.values()) if (one.facts.state === 'waiting') one.facts.state = 'delivered';
    await eventually('the next to go out', async () => (await report(batchId)).counts.sent > 4);
  });

  it('stops by itself when its items fail with the class of their dead letters again', async () => {
    await many(60);
    const batchId = await approved({ concurrency: 10 });
    let done = 0;
    rig.replays.behave = () => (++done > 10 ? { state: 'dead', class: 'attempts_exhausted', code: 'http_503' } : { state: 'delivered' });
    startRunner();
    const stopped = await until(batchId, 'stopped');
    expect(stopped).toMatchObject({ stopped_by: 'same_error', ended_by: 'runner' });
    expect(stopped.counts.failed).toBeGreaterThanOrEqual(3);
    await eventually('its items to end', async () => (await report(batchId)).counts.open === 0);
    expect((await report(batchId)).counts.stopped).toBeGreaterThan(0);
  });

  it('stops by itself when other dead letters of its destination come in', async () => {
    await many(60);
    const batchId = await approved({ concurrency: 1 });
    startRunner();
    await until(batchId, 'running');
    await many(25);
    const stopped = await until(batchId, 'stopped');
    // The sixty of before are its own, six a minute.
    expect(stopped).toMatchObject({
      stopped_by: 'dead_letters_grow',
      // Judged while they come in: at 20 of them at the soonest.
      why: { detail: expect.stringMatching(/^2[0-5] other dead letters in the last minute, 6 before$/) },
    });
    expect(stopped.counts.stopped).toBeGreaterThan(0);
  });

  it('stops by itself when half of its last calls took longer than half of the timeout', async () => {
    await many(60);
    const batchId = await approved({ concurrency: 10 });
    let done = 0;
    rig.replays.behave = () => ({ state: 'delivered', durationMs: ++done > 10 ? 1_500 : 100 });
    startRunner();
    const stopped = await until(batchId, 'stopped');
    expect(stopped).toMatchObject({ stopped_by: 'slow', why: { detail: expect.stringContaining('took longer than 1500 ms') } });
    expect(stopped.counts).toMatchObject({ failed: 0, stopped: expect.any(Number) });
    expect(stopped.counts.stopped).toBeGreaterThan(0);
  });

  it('stops after its canary for a duplicate, for the class of the letters again, and waits for a person where nothing is found', async () => {
    await many(20);
    const doubled = await approved();
    rig.replays.behave = () => ({ state: 'delivered', records: 2 });
    startRunner();
    expect(await until(doubled, 'stopped')).toMatchObject({ stopped_by: 'duplicate', counts: { sent: 10, stopped: 10 } });

    await rig.clear();
    desk = new BatchDesk(rig.tools, () => runners.forEach((runner) => void runner.wake()));
    await Promise.all(runners.map((runner) => runner.stop()));
    runners = [];
    await many(20);
    rig.replays.behave = () => ({ state: 'dead', class: 'attempts_exhausted' });
    const again = await approved();
    startRunner();
    expect(await until(again, 'stopped')).toMatchObject({ stopped_by: 'same_error', counts: { failed: expect.any(Number), succeeded: 0 } });
  });

  it('goes on without lookups only when a person has looked', async () => {
    await many(20);
    rig.replays.noLookup = true;
    const batchId = await approved();
    startRunner();
    expect(await until(batchId, 'paused')).toMatchObject({ why: { code: 'canary_no_lookup' }, counts: { sent: 10 } });
    await expect(desk.command('resume', { batchId, person: author })).rejects.toEqual(refusedAs('self-vouching'));
    await desk.command('resume', { batchId, person: approver });
    expect(await until(batchId, 'finished')).toMatchObject({ counts: { succeeded: 20 }, canary: { vouched_by: 'approver' } });
  });

  it('lets its author vouch for the canary where one person works alone', async () => {
    await many(20);
    rig.replays.noLookup = true;
    const { batch_id: batchId } = await draft();
    const { hash } = await desk.check(batchId, author);
    await approve(batchId, hash, { policy: 'single_operator' }, author);
    startRunner();
    await until(batchId, 'paused');
    await desk.command('resume', { batchId, person: author });
    expect(await until(batchId, 'finished')).toMatchObject({ canary: { vouched_by: 'author' } });
  });

  it('asks again where the canary shows something else than it was vouched for', async () => {
    await many(20);
    rig.replays.noLookup = true;
    const batchId = await approved();
    startRunner();
    await until(batchId, 'paused');
    rig.replays.noLookup = false;
    for (const { records } of rig.replays.deliveries.values()) records.length = 0;
    await desk.command('resume', { batchId, person: approver });
    const again = await until(batchId, 'paused', { delivers: false });
    expect(again).toMatchObject({ why: { code: 'canary_unverified' }, counts: { sent: 10 } });
  });

  it('asks again where more of the canary is missing than it was vouched for', async () => {
    await many(20);
    // One of ten is not there, the others nobody can ask for.
    let missing: string | undefined;
    rig.replays.noLookup = (eventId) => {
      missing ??= eventId;
      if (eventId === missing) rig.replays.delivery(eventId).records.length = 0;
      return eventId !== missing;
    };
    const batchId = await approved();
    startRunner();
    const first = await until(batchId, 'paused');
    expect(first).toMatchObject({ why: { code: 'canary_unverified', detail: expect.stringMatching(/^1 of .*; 9 of/) } });
    rig.replays.noLookup = false;
    for (const { records } of rig.replays.deliveries.values()) records.length = 0;
    await desk.command('resume', { batchId, person: approver });
    const again = await until(batchId, 'paused', { delivers: false });
    expect(again).toMatchObject({ why: { code: 'canary_unverified', detail: expect.stringMatching(/^10 of/) }, counts: { sent: 10 } });
  });

  it('has the calls of a replay in its letter, though its owner did not answer for them when it ended', async () => {
    const [first, second] = (await many(2)) as [string, string];
    const history = (id: string) =>
      rig.sql<{ calls: number }>('SELECT jsonb_array_length(history) AS calls FROM dead_letter WHERE event_id = $1', [id]);
    const calls = rig.owner.known.get(`${first} crm`)?.attempts.length;
    for (const id of [first, second]) rig.owner.unanswerable.add(id);
    const batchId = await approved();
    startRunner();
    await until(batchId, 'finished');
    expect(await history(first)).toEqual([{ calls: 0 }]);
    // One that cannot be given does not keep the other from being written.
    rig.owner.unanswerable.delete(first);
    const due = () => rig.sql('UPDATE replay_item SET history_due_at = clock_now() WHERE history_due_at IS NOT NULL');
    // Its runner has just asked.
    await keepDueHistories(rig.tools);
    expect(await history(first)).toEqual([{ calls: 0 }]);
    await due();
    await keepDueHistories(rig.tools);
    expect(await history(first)).toEqual([{ calls }]);
    expect(await history(second)).toEqual([{ calls: 0 }]);
    rig.owner.unanswerable.delete(second);
    await due();
    // Several instances look: one of them has it.
    let asked = 0;
    const owner = {
      histories: (items: never[]) => {
        asked += items.length;
        return rig.owner.histories(items);
      },
    };
    const counting = { ...rig.tools, owners: new Map([['crm-writer', owner as never]]) };
    await Promise.all([1, 2, 3].map(() => keepDueHistories(counting)));
    expect(asked).toBe(1);
    expect(await history(second)).toEqual([{ calls }]);
    expect(await rig.sql('SELECT FROM replay_item WHERE history_due_at IS NOT NULL')).toEqual([]);
  });

  it('waits for a search that lags behind', async () => {
    await many(12);
    const batchId = await approved();
    rig.replays.lagBehind();
    const before = rig.replays.lookups;
    startRunner();
    expect(await until(batchId, 'finished')).toMatchObject({ counts: { succeeded: 12 }, canary: { verified: 10 } });
    // Each once in vain, and again.
    expect(rig.replays.lookups - before).toBe(20);
  });

  it('pauses while its destination is held, and stops when it throttles', async () => {
    await many(30);
    const batchId = await approved();
    destinationSays('hold');
    startRunner();
    expect(await until(batchId, 'paused')).toMatchObject({ why: { code: 'destination_held', detail: 'crm: hold' }, counts: { sent: 0 } });
    destinationSays();
    await desk.command('resume', { batchId, person: approver });
    await eventually('the canary', async () => (await report(batchId)).counts.sent === 10);
    destinationSays('throttled');
    expect(await until(batchId, 'stopped')).toMatchObject({ stopped_by: 'throttled', counts: { stopped: 20 } });
  });

  it('stopped with records still in the topic applies none of them, and says so of each', async () => {
    await many(30);
    const batchId = await approved();
    startRunner();
    await eventually('the canary to go out', async () => (await rig.outbox()).length === 10, { timeoutMs: 10_000 });
    await desk.command('stop', { batchId, person: approver, reason: 'wrong mapping' });
    await eventually('every item to have its end', async () => (await report(batchId)).counts.open === 0);
    expect(new Set(await states(batchId))).toEqual(new Set(['stopped']));
    await rig.deliver();
    expect(rig.replays.refused).toEqual(Array.from({ length: 10 }, () => 'batch_ended'));
    expect([...rig.replays.deliveries.values()].every(({ applied }) => applied === 0)).toBe(true);
    expect(await report(batchId)).toMatchObject({
      state: 'stopped',
      stopped_by: 'approver',
      why: { code: 'by_person', detail: 'wrong mapping' },
    });
    await expect(desk.command('stop', { batchId, person: approver })).rejects.toEqual(refusedAs('batch-ended'));
    await expect(desk.command('resume', { batchId, person: approver })).rejects.toEqual(refusedAs('batch-ended'));
    expect((await desk.check((await draft()).batch_id, author)).verdicts).toEqual({ eligible: 30 });
  });

  it('paused claims nothing, and goes on where it was', async () => {
    await many(30);
    const batchId = await approved();
    startRunner();
    await eventually('the canary to go out', async () => (await rig.outbox()).length === 10, { timeoutMs: 10_000 });
    await desk.command('pause', { batchId, person: author, reason: 'look' });
    const records = await rig.outbox();
    await rig.deliver();
    expect(new Set(rig.replays.refused)).toEqual(new Set(['later']));
    await expect(desk.edit(batchId, editRequest.parse({ rate_per_s: 1 }), author)).rejects.toEqual(refusedAs('batch-started'));
    await desk.command('resume', { batchId, person: approver });
    for (const record of records) await rig.replays.take(record);
    expect(await until(batchId, 'finished')).toMatchObject({ counts: { succeeded: 30 } });
  });

  it('notes what each item came to by the word of its owner alone', async () => {
    const [one, two, three] = (await many(3)) as [string, string, string];
    rig.replays.behave = (id) =>
      id === one
        ? { state: 'delivered' }
        : id === two
          ? { state: 'dead', class: 'permanent', code: 'http_422' }
          : { state: 'uncertain', class: 'unverified_write' };
    const batchId = await approved();
    startRunner();
    await until(batchId, 'finished');
    const { items } = await desk.items(batchId, { after: 0, limit: 10 }, author);
    const by = new Map(items.map((item) => [item.event_id, item]));
    expect(by.get(one)).toMatchObject({ state: 'succeeded', found: 'one', refs: { lead: expect.any(String) } });
    expect(by.get(two)).toMatchObject({ state: 'failed', class: 'permanent', code: 'http_422' });
    expect(by.get(three)).toMatchObject({ state: 'uncertain' });
  });

  it('stops when its time is over', async () => {
    await many(20);
    const batchId = await approved({ max_duration: '1s', rate_per_s: 5 });
    startRunner();
    expect(await until(batchId, 'stopped')).toMatchObject({ stopped_by: 'max_duration' });
    await eventually('its items to end', async () => (await report(batchId)).counts.open === 0);
    expect((await report(batchId)).counts.stopped).toBeGreaterThan(0);
  });

  it('waits while its owner does not answer', async () => {
    await many(1);
    const batchId = await approved();
    rig.replays.down = true;
    startRunner();
    await eventually('its item to be sent', async () => (await rig.deliver()) === 1, { timeoutMs: 10_000 });
    expect((await report(batchId)).counts.open).toBe(1);
    rig.replays.down = false;
    expect(await until(batchId, 'finished')).toMatchObject({ counts: { succeeded: 1 } });
  });
});

describe('one person alone', () => {
  const alone = (more: Record<string, unknown> = {}) =>
    desk.approveAlone(
      { approver: 'ada', new_deadline: 3_600_000, select: { destination: 'crm' }, max: 50, ...more },
      personOf('ada', { caller: 'leadctl' }),
    );

  it('approves up to fifty, each once however often it is asked, and never two batches of one item', async () => {
    await many(8);
    const all = await Promise.all(Array.from({ length: 5 }, () => alone()));
    expect(all.reduce((sum, { approved: count }) => sum + count, 0)).toBe(8);
    const again = await alone();
    expect(again).toMatchObject({ approved: 0, items: Array.from({ length: 8 }, () => ({ verdict: 'already_in_batch' })) });
    startRunner();
    await eventually('all to be delivered', async () => {
      await rig.deliver();
      return [...rig.replays.deliveries.values()].every(({ applied }) => applied === 1);
    });
  });

  it('finds no batch where nothing fits', async () => {
    expect(await alone()).toEqual({ approved: 0, items: [] });
    const id = await rig.dead();
    rig.replays.delivery(id).facts.state = 'delivered';
    expect(await alone()).toMatchObject({ approved: 0, items: [{ event_id: id, verdict: 'already_at_destination' }] });
    expect(await rig.sql("SELECT FROM replay_batch WHERE state <> 'stopped'")).toEqual([]);
  });

  it('takes the oldest first, and of the rest with the next no more than fifty are left for', async () => {
    const ids = await many(55);
    const first = await alone({ max: 45 });
    expect(first.items.map(({ event_id }) => event_id)).toEqual(ids.slice(0, 45));
    const second = await alone();
    expect(second.items.filter(({ verdict }) => verdict === 'approved').map(({ event_id }) => event_id)).toEqual(ids.slice(45, 50));
    await expect(alone()).rejects.toEqual(refusedAs('policy-too-large'));
    // Through the door of the keys nobody has proved a name.
    await expect(alone({ approver: 'ben' })).rejects.toEqual(refusedAs('policy-too-large'));
    expect(await rig.sql("SELECT FROM replay_batch WHERE state IN ('draft', 'checked')")).toEqual([]);
  });

  it('is bound by what is under way or of the last hour, not by what was stopped before it was sent', async () => {
    await many(60);
    const batch = async (max: number, filter: object = { destination: 'crm' }) => {
      const { batch_id } = await draft({ max, filter });
      const { hash } = await desk.check(batch_id, author);
      return { batch_id, hash };
    };
    const own = (one: { batch_id: string; hash: string }, person = author) =>
      approve(one.batch_id, one.hash, { policy: 'single_operator' }, person);
    const first = await batch(30);
    await own(first);
    const second = await batch(60);
    await expect(own(second)).rejects.toEqual(refusedAs('policy-too-large'));
    // Another person has an allowance of their own.
    expect(await own(second, approver)).toMatchObject({ approved: 30 });
    await desk.command('stop', { batchId: first.batch_id, person: author, reason: 'wrong mapping' });
    const third = await batch(30);
    expect(await own(third)).toMatchObject({ approved: 30 });
    await rig.sql("UPDATE replay_item SET sent_at = clock_now(), state = 'succeeded', closed_at = clock_now() WHERE batch_id = $1", [
      third.batch_id,
    ]);
    const more = await batch(25, { event_ids: await many(25) });
    await expect(own(more)).rejects.toEqual(refusedAs('policy-too-large'));
    await rig.sql("UPDATE replay_batch SET approved_at = approved_at - interval '61 minutes' WHERE batch_id = $1", [third.batch_id]);
    expect(await own(more)).toMatchObject({ approved: 25 });
  });

  it('stands in the audit as what came through the door that it came through', async () => {
    await rig.dead();
    const { batch_id } = await alone();
    const entries = await rig.sql<{ caller: string; person: string; action: string }>(
      "SELECT DISTINCT caller, person, action FROM audit WHERE subject->>'batch_id' = $1 ORDER BY action",
      [batch_id],
    );
    expect(entries).toEqual(['approve', 'check', 'draft'].map((word) => ({ caller: 'leadctl', person: 'ada', action: `batch.${word}` })));
    const nothing = await rig.dead();
    rig.replays.delivery(nothing).facts.state = 'delivered';
    await alone({ select: { event_ids: [nothing] } });
    const stopped = await rig.sql("SELECT caller FROM audit WHERE action = 'batch.stop' ORDER BY audit_id DESC LIMIT 1");
    expect(stopped).toEqual([{ caller: 'leadctl' }]);
  });
});

describe('the export', () => {
  it('lists every item, and no field that a spreadsheet runs', async () => {
    await rig.dead({ organization: '=cmd|calc' });
    await rig.dead({ organization: 'a,"b"' });
    const { batch_id } = await draft();
    await desk.check(batch_id, author);
    let text = '';
    for await (const part of await desk.csv(batch_id, author)) text += part;
    const lines = text.trimEnd().split('\r\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^position,event_id,destination,/);
    expect(text).toContain(",'=cmd|calc,");
    expect(text).toContain(',"a,""b""",');
  });
});

describe('the audit', () => {
  const audited = (batchId: string) =>
    rig.sql<{ person: string; action: string }>("SELECT person, action FROM audit WHERE subject->>'batch_id' = $1 ORDER BY audit_id", [
      batchId,
    ]);

  it('holds every decision about a batch with the subject who took it', async () => {
    await many(1);
    const batchId = await approved();
    await desk.command('pause', { batchId, person: author, reason: 'look' });
    await desk.command('resume', { batchId, person: approver });
    await desk.command('stop', { batchId, person: author, reason: 'enough' });
    const itself = await approved();
    startRunner();
    await until(itself, 'finished');
    expect(await audited(itself)).toEqual(
      ['draft', 'check', 'approve', 'begin', 'canary_passed', 'finish'].map((event, index) => ({
        action: `batch.${event}`,
        person: ['author', 'author', 'approver'][index] ?? 'runner',
      })),
    );
    expect(await audited(batchId)).toEqual([
      { person: 'author', action: 'batch.draft' },
      { person: 'author', action: 'batch.check' },
      { person: 'approver', action: 'batch.approve' },
      { person: 'author', action: 'batch.pause' },
      { person: 'approver', action: 'batch.resume' },
      { person: 'author', action: 'batch.stop' },
    ]);
  });
});
