import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Discrepancy } from '#delivery';
import { type Database, type InternalServer, internalClient, startInternalServer } from '#runtime';
import { eventually, type TestDatabase, testDatabase } from '#testkit';
import { PretendReconciler } from '../../test/pretend-reconciler.js';
import { type Delivered, PretendRepairs } from '../../test/pretend-repairs.js';
import { openReplayRig, personOf, type ReplayRig } from '../../test/replay-rig.js';
import { historyOf, leadAccepted, openOperatorDatabase, silent } from '../../test/rig.js';
import { approveBatchRequest } from '../batches/approve-batch.js';
import { BatchDesk } from '../batches/batch-desk.js';
import { editRequest } from '../batches/filter.js';
import { BatchRunner } from '../batches/runner/batch-runner.js';
import { purge } from '../purge.js';
import { draftRepairs } from './draft-repairs.js';
import { reconcilerApi } from './reconciler-api.js';
import { repairsBody } from './repairs-request.js';
import { tellReconciler } from './tell-reconciler.js';

jest.setTimeout(60_000);

const token = 'operator-token-16chars';
const [author, approver] = [personOf('author'), personOf('approver')];

let database: TestDatabase;
let db: Database;
let server: InternalServer;
let client: ReturnType<typeof internalClient>;
let rig: ReplayRig;
let desk: BatchDesk;
let runner: BatchRunner | undefined;
let owner: PretendRepairs;
const reconciler = new PretendReconciler();

beforeAll(async () => {
  database = await testDatabase('operator_repairs');
  db = await openOperatorDatabase(database.url);
  server = await startInternalServer({ host: '127.0.0.1', port: 0, tokens: { operator: token }, readiness: [], logger: silent });
  reconciler.serve(server);
  client = internalClient({ baseUrl: `http://127.0.0.1:${server.port}`, token, timeoutMs: 5_000 });
  rig = openReplayRig(db);
});
afterAll(async () => {
  await client?.close();
  await server?.stop();
  await db?.close();
  await database?.drop();
});
beforeEach(async () => {
  await rig.clear();
  reconciler.clear();
  owner = new PretendRepairs(rig.gate());
  rig.tools = { ...rig.tools, replays: new Map([['crm-writer', owner]]), reconciler: reconcilerApi(client) };
  desk = new BatchDesk(rig.tools, () => runner?.wake());
});
afterEach(async () => {
  await runner?.stop();
  runner = undefined;
});

/** A lead that was delivered, by our rows. */
function delivered(): { eventId: string; one: Delivered; lead: ReturnType<typeof leadAccepted> } {
  const lead = leadAccepted();
  const record = { record_key: Buffer.from('person').toString('base64'), event: Buffer.from('event').toString('base64') };
  rig.owner.add(historyOf(lead, { state: 'delivered', ...record }));
  return { eventId: lead.event_id, one: owner.delivered(lead.event_id, lead.lead_ref), lead };
}
const found = (eventId: string, changes: Partial<Discrepancy> = {}) => reconciler.found({ event_id: eventId, ...changes });
/** Its opportunity is not there. */
function missing() {
  const made = delivered();
  made.one.records.lead = [];
  return { ...made, discrepancy: found(made.eventId, { ref: 'lead-1' }) };
}
/** Its person's record says something else, and nobody but us wrote it. */
function conflict() {
  const made = delivered();
  owner.states.set('contact-1', { result: 'found', version: '7', changed_by: 'us' });
  const evidence = { version: '7', changed_by: 'us' };
  return {
    ...made,
    discrepancy: found(made.eventId, { class: 'content_conflict', aspect: 'value', kind: 'contact', repair: 'update', evidence }),
  };
}
const draft = (request: Record<string, unknown>, person = author) =>
  draftRepairs(rig.tools, repairsBody.parse({ reason: 'found by the nightly run', rate_per_s: 500, ...request }), person);
const draftOf = (...discrepancies: Discrepancy[]) => draft({ ids: discrepancies.map(({ discrepancy_id }) => discrepancy_id) });
const itemsOf = async (batchId: string) => (await desk.items(batchId, { after: 0, limit: 500 }, author)).items;
const verdictsOf = async (batchId: string) =>
  (await itemsOf(batchId)).map(({ verdict, detail }) => (detail === null ? verdict : `${verdict}: ${detail}`));
const approve = (batchId: string, hash: string) => desk.approve(batchId, approveBatchRequest.parse({ hash }), approver);
async function approved(...discrepancies: Discrepancy[]): Promise<string> {
  const { batch_id } = await draftOf(...discrepancies);
  const { hash } = await desk.check(batch_id, author);
  await approve(batch_id, hash);
  return batch_id;
}
const start = () => {
  runner = new BatchRunner(rig.tools);
  runner.start();
};
const deliver = async () => {
  const rows = await rig.outbox();
  await rig.sql('DELETE FROM outbox WHERE id = ANY ($1::bigint[])', [rows.map(({ id }) => id)]);
  for (const row of rows) await owner.take(row);
};
const until = (batchId: string, state: string) =>
  eventually(
    `the batch to be ${state}`,
    async () => {
      await deliver();
      return (await desk.report(batchId, author)).state === state ? true : undefined;
    },
    { timeoutMs: 8_000 },
  );
const tell = () => tellReconciler({ db, reconciler: reconcilerApi(client), logger: silent });
const stateOf = ({ discrepancy_id }: Discrepancy) => reconciler.discrepancies.get(discrepancy_id);

describe('a draft of repairs', () => {
  it('has one item for each delivery, with what is to become of each of its operations', async () => {
    const { eventId, discrepancy } = missing();
    const contact = found(eventId, { class: 'deleted', kind: 'contact', ref: 'contact-1' });
    const answer = await draftOf(discrepancy, contact);
    expect(answer).toMatchObject({ state: 'draft', items: 1, discrepancies: 2, left_out: { no_repair: 0, settled: 0, unknown: 0 } });
    const [item] = await rig.sql<{ repair: unknown; discrepancy_ids: string[] }>('SELECT repair, discrepancy_ids FROM replay_item');
    expect(item?.discrepancy_ids.toSorted()).toEqual([discrepancy.discrepancy_id, contact.discrepancy_id].toSorted());
    expect(item?.repair).toMatchObject({
      generation: 1,
      steps: [
        { kind: 'lead', repair: 'create', ref: 'lead-1', operation_key: `${eventId}:crm:lead` },
        { kind: 'contact', repair: 'create', ref: 'contact-1' },
      ],
    });
    expect(await rig.sql('SELECT person, action, organization FROM audit ORDER BY audit_id DESC LIMIT 1')).toEqual([
      { person: 'author', action: 'repair.draft', organization: 'demo' },
    ]);
  });

  it('leaves out what a person decides, what is settled and what its author may not see, and says how much', async () => {
    const { eventId, discrepancy } = missing();
    const rest = [
      found(eventId, { class: 'duplicate', repair: undefined }),
      found(eventId, { state: 'repaired' }),
      found(eventId, { organization: 'other' }),
      found(eventId, { class: 'told_nobody', repair: 'tell' }),
    ];
    const ids = [discrepancy, ...rest].map(({ discrepancy_id }) => discrepancy_id);
    const answer = await draft({ ids }, personOf('author', { organizations: ['demo'] }));
    expect(answer).toMatchObject({
      items: 1,
      discrepancies: 1,
      left_out: { no_repair: 1, settled: 1, unknown: 1, no_letter: 1, over_max: 0 },
    });
    await expect(draftOf(...rest.slice(0, 2))).rejects.toMatchObject({ problem: { type: expect.stringMatching(/nothing-to-repair$/) } });
  });

  it('takes what a filter finds, also what a repair failed on', async () => {
    missing();
    const { eventId } = missing();
    found(eventId, { state: 'repair_failed', class: 'deleted', kind: 'contact' });
    expect(await draft({ filter: { destination: 'crm' } })).toMatchObject({ items: 2, discrepancies: 3 });
    expect(await draft({ filter: { class: 'deleted' } })).toMatchObject({ items: 1, discrepancies: 1 });
    expect(() => repairsBody.parse({ filter: {}, reason: 'x' })).toThrow();
    expect(() => repairsBody.parse({ reason: 'x' })).toThrow();
  });

  it('tells nobody of what was given up but from its dead letter, and leaves the rest to a person', async () => {
    const eventId = await rig.dead();
    const destination = `lead/sales/${eventId}/lead_delivered`;
    await rig.sql("UPDATE dead_letter SET service = 'notifier', destination = $2 WHERE event_id = $1", [eventId, destination]);
    const { discrepancy_id } = found(eventId, { class: 'told_nobody', repair: 'tell' });
    found(delivered().eventId, { class: 'told_nobody', repair: 'tell' });
    const answer = await draft({ filter: { class: 'told_nobody' } });
    expect(answer).toMatchObject({ items: 1, discrepancies: 1, left_out: { no_letter: 1 } });
    const items = await rig.sql('SELECT service, destination, discrepancy_ids, repair, letter_class, dead_letter_id FROM replay_item');
    expect(items).toEqual([
      {
        service: 'notifier',
        destination,
        discrepancy_ids: [discrepancy_id],
        repair: null,
        letter_class: 'attempts_exhausted',
        dead_letter_id: expect.any(String),
      },
    ]);
    expect(await draft({ filter: { destination: 'crm' }, max: 1 })).toMatchObject({ left_out: { over_max: 1 } });
  });

  it('is bound by its hash to what becomes of each operation', async () => {
    const { one, discrepancy } = missing();
    const first = await draftOf(discrepancy);
    (one.facts.operations[1] as { ref: string }).ref = 'lead-2';
    expect((await draftOf(discrepancy)).hash).not.toBe(first.hash);
    const edited = await desk.edit(first.batch_id, editRequest.parse({ reason: 'found by the nightly run' }), author);
    expect(edited.hash).toBe(first.hash);
  });
});

describe('the dry run of repairs', () => {
  it.each<[string, (made: ReturnType<typeof missing>) => void, string]>([
    ['is eligible while it is not there', () => undefined, 'eligible'],
    [
      'is not needed where it is there after all',
      ({ one }) => void Object.assign(one.records, { lead: ['lead-1'] }),
      'not_needed: found lead-1',
    ],
    [
      'is not made again where there are several',
      ({ one }) => void Object.assign(one.records, { lead: ['a', 'b'] }),
      'not_replayable: several_at_destination',
    ],
    ['is not made again where nobody can say', () => void Object.assign(owner, { deaf: true }), 'uncertain: timeout'],
    [
      'is not made again in flight',
      ({ one }) => void Object.assign(one, { facts: { ...one.facts, state: 'waiting' } }),
      'in_flight: waiting',
    ],
    ['is not made again once it was erased', ({ one }) => void Object.assign(one, { facts: { ...one.facts, state: 'erased' } }), 'erased'],
    [
      'is not made again of a lead that nothing is kept of',
      ({ lead }) => void rig.payloads.set(lead.lead_ref, 'gone'),
      'erased: nothing_kept',
    ],
    ['is not made again without consent', ({ lead }) => void rig.payloads.set(lead.lead_ref, 'withdrawn'), 'consent_withdrawn'],
    [
      'is not made again in another generation',
      ({ one }) => void Object.assign(one, { facts: { ...one.facts, generation: 2 } }),
      'mapping_changed: generation 2',
    ],
    [
      'is not needed once it is gone from the list',
      ({ discrepancy }) => void Object.assign(discrepancy, { state: 'gone' }),
      'not_needed: gone',
    ],
  ])('of what is missing %s', async (_, change, verdict) => {
    const made = missing();
    const { batch_id } = await draftOf(made.discrepancy);
    change(made);
    await desk.check(batch_id, author);
    expect(await verdictsOf(batch_id)).toEqual([verdict]);
  });

  it.each<[string, (made: ReturnType<typeof conflict>) => void, string]>([
    ['is eligible while nobody has changed it since', () => undefined, 'eligible'],
    [
      'is refused where a person did',
      () => void owner.states.set('contact-1', { result: 'found', version: '7', changed_by: 'other' }),
      'changed_by_person: changed_since',
    ],
    [
      'is refused where its version is another',
      () => void owner.states.set('contact-1', { result: 'found', version: '8', changed_by: 'us' }),
      'changed_by_person: changed_since',
    ],
    ['is refused where nobody can say', () => void owner.states.set('contact-1', { result: 'unknown' }), 'uncertain: not_read'],
    [
      'is refused where the record is gone',
      ({ one }) => void Object.assign(one.records, { contact: [] }),
      'not_replayable: gone_at_destination',
    ],
    [
      'is refused where it is another record',
      ({ one }) => void Object.assign(one.records, { contact: ['contact-2'] }),
      'not_replayable: another record contact-2',
    ],
    [
      'is refused where the reconciler saw a person in it since',
      ({ discrepancy }) => void Object.assign(discrepancy, { aspect: 'human_change' }),
      'changed_by_person: human_change',
    ],
  ])('of what differs %s', async (_, change, verdict) => {
    const made = conflict();
    const { batch_id } = await draftOf(made.discrepancy);
    change(made);
    await desk.check(batch_id, author);
    expect(await verdictsOf(batch_id)).toEqual([verdict]);
  });

  it('changes the record of a person alone: no lead is written over', async () => {
    const { eventId } = delivered();
    const { batch_id } = await draftOf(found(eventId, { class: 'content_conflict', aspect: 'value', repair: 'update' }));
    await desk.check(batch_id, author);
    expect(await verdictsOf(batch_id)).toEqual(['not_replayable: only a person is changed']);
  });

  it('says which other batch has it', async () => {
    const { discrepancy } = missing();
    const other = await approved(discrepancy);
    const { batch_id } = await draftOf(discrepancy);
    await desk.check(batch_id, author);
    expect(await verdictsOf(batch_id)).toEqual([`already_in_batch: ${other}`]);
  });
});

describe('approved repairs', () => {
  it('make anew what is missing, each once, and the reconciler is told by whom and with what end', async () => {
    const all = Array.from({ length: 3 }, () => missing());
    const { batch_id } = await draftOf(...all.map(({ discrepancy }) => discrepancy));
    const { hash } = await desk.check(batch_id, author);
    await expect(desk.approve(batch_id, approveBatchRequest.parse({ hash }), author)).rejects.toMatchObject({
      problem: { type: expect.stringMatching(/self-approval$/) },
    });
    await approve(batch_id, hash);
    await tell();
    expect(stateOf(all[0]?.discrepancy as Discrepancy)).toMatchObject({ state: 'repairing', by: 'author', approver: 'approver' });
    start();
    await until(batch_id, 'finished');
    await tell();
    for (const { one, discrepancy } of all) {
      expect(one.written).toEqual([`lead ${one.records.lead?.[0] ?? ''}`]);
      expect(one.records).toMatchObject({ contact: ['contact-1'], lead: [expect.stringMatching(/^lead-/)] });
      expect(stateOf(discrepancy)).toMatchObject({
        state: 'repaired',
        approver: 'approver',
        item_id: one.item,
        result: expect.stringContaining(`lead=${one.records.lead?.[0]}`),
      });
    }
    expect((await desk.report(batch_id, author)).canary).toMatchObject({ size: 3, verified: 3 });
  });

  it('stop once they fail with one class again and again, and say so of each', async () => {
    owner.failWith = 'permanent';
    const all = Array.from({ length: 12 }, () => missing());
    const batchId = await approved(...all.map(({ discrepancy }) => discrepancy));
    start();
    await until(batchId, 'stopped');
    expect(await desk.report(batchId, author)).toMatchObject({ why: { code: 'same_error' }, counts: { failed: 10, stopped: 2 } });
    await tell();
    expect(new Set(all.map(({ discrepancy }) => stateOf(discrepancy)?.state))).toEqual(new Set(['repair_failed']));
    expect(stateOf(all[0]?.discrepancy as Discrepancy)).toMatchObject({ result: 'failed permanent' });
  });

  it('say to whoever approves them what each does, and to a spreadsheet', async () => {
    const { discrepancy } = missing();
    const batchId = await approved(discrepancy);
    const repair = [{ discrepancy_id: discrepancy.discrepancy_id, kind: 'lead', repair: 'create', ref: 'lead-1' }];
    expect(await itemsOf(batchId)).toMatchObject([{ repair }]);
    let csv = '';
    for await (const part of await desk.csv(batchId, author)) csv += part;
    expect(csv).toContain('create lead lead-1');
  });

  it('change what differs by its reference, and make no second record', async () => {
    const { one, discrepancy } = conflict();
    start();
    await until(await approved(discrepancy), 'finished');
    expect(one).toMatchObject({ written: ['contact contact-1'], records: { contact: ['contact-1'], lead: ['lead-1'] } });
  });

  it('are not sent where a person has changed the record since the dry run', async () => {
    const { one, discrepancy } = conflict();
    const batchId = await approved(discrepancy);
    owner.states.set('contact-1', { result: 'found', version: '8', changed_by: 'other' });
    start();
    await until(batchId, 'finished');
    await tell();
    expect(one.written).toEqual([]);
    expect(await itemsOf(batchId)).toMatchObject([{ state: 'ended', detail: 'changed_by_person' }]);
    expect(stateOf(discrepancy)).toMatchObject({ state: 'repair_failed', result: 'ended changed_by_person' });
  });

  it('are not approved where somebody has accepted what stands there, and not sent where somebody does so later', async () => {
    const [before, after] = [conflict(), missing()];
    const { batch_id } = await draftOf(before.discrepancy, after.discrepancy);
    const { hash } = await desk.check(batch_id, author);
    Object.assign(before.discrepancy, { state: 'accepted' });
    await expect(approve(batch_id, hash)).rejects.toMatchObject({ problem: { type: expect.stringMatching(/settled-since$/), count: 1 } });
    const again = await desk.check(batch_id, author);
    await approve(batch_id, again.hash);
    Object.assign(after.discrepancy, { state: 'accepted' });
    start();
    await until(batch_id, 'finished');
    expect([...before.one.written, ...after.one.written]).toEqual([]);
    expect((await itemsOf(batch_id)).map(({ state, detail }) => [state, detail]).sort()).toEqual([
      ['ended', 'accepted'],
      ['skipped', 'accepted'],
    ]);
  });

  it('make nothing anew that is there by then', async () => {
    const { one, discrepancy } = missing();
    const batchId = await approved(discrepancy);
    one.records.lead = ['lead-1'];
    start();
    await until(batchId, 'finished');
    expect(one.written).toEqual([]);
    expect(await itemsOf(batchId)).toMatchObject([{ state: 'ended', detail: 'found lead-1' }]);
  });

  it('wait while a destination cannot say what it holds, and are sent once it can', async () => {
    const [created, changed] = [missing(), conflict()];
    const batchId = await approved(created.discrepancy, changed.discrepancy);
    const state = owner.states.get('contact-1');
    owner.deaf = true;
    owner.states.set('contact-1', { result: 'unknown' });
    start();
    await until(batchId, 'canary');
    await delay(500);
    expect((await itemsOf(batchId)).map((item) => item.state)).toEqual(['open', 'open']);
    owner.deaf = false;
    if (state !== undefined) owner.states.set('contact-1', state);
    await until(batchId, 'finished');
    expect([created.one.written.length, changed.one.written.length]).toEqual([1, 1]);
  });

  it('end without effect where the delivery is in another generation by then', async () => {
    const { one, discrepancy } = missing();
    const batchId = await approved(discrepancy);
    one.facts = { ...one.facts, generation: 2 };
    start();
    await until(batchId, 'finished');
    expect(one.written).toEqual([]);
    expect(await itemsOf(batchId)).toMatchObject([{ state: 'not_applied' }]);
  });

  it('that are stopped before they are sent are told as failed, and can be drafted again', async () => {
    const { discrepancy } = missing();
    const batchId = await approved(discrepancy);
    await desk.command('stop', { batchId, person: approver, reason: 'not today' });
    await tell();
    expect(stateOf(discrepancy)).toMatchObject({ state: 'repair_failed', result: expect.stringContaining('stopped') });
    expect(await draftOf(discrepancy)).toMatchObject({ items: 1 });
  });

  it('are told to the reconciler once it answers again, begin before end', async () => {
    const { discrepancy } = missing();
    reconciler.down = true;
    await expect(approved(discrepancy)).rejects.toMatchObject({ problem: { status: 503 } });
    reconciler.down = false;
    const batchId = await approved(discrepancy);
    start();
    await until(batchId, 'finished');
    reconciler.down = true;
    await expect(tell()).rejects.toMatchObject({ problem: { status: 503 } });
    reconciler.down = false;
    await tell();
    await tell();
    expect(reconciler.settled.map(({ state }) => state)).toEqual(['repairing', 'repaired']);
  });

  it('are kept for as long as audits are, and go then', async () => {
    const { discrepancy } = missing();
    start();
    await until(await approved(discrepancy), 'finished');
    await tell();
    await purge(db);
    expect(await rig.sql('SELECT 1 FROM replay_item')).toHaveLength(1);
    await rig.sql("UPDATE replay_item SET closed_at = closed_at - interval '401 days'");
    await purge(db);
    expect(await rig.sql('SELECT 1 FROM replay_item')).toEqual([]);
    expect(await rig.sql('SELECT 1 FROM replay_batch')).toEqual([]);
  });
});
