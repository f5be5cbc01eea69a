import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Database } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { author, correctionSteps, correctionTools } from '../../test/corrections-rig.js';
import { openReplayRig, type ReplayRig } from '../../test/replay-rig.js';
import { openOperatorDatabase } from '../../test/rig.js';
import type { Person } from '../people/person.js';
import { correctionsQuery, listCorrections } from './list-corrections.js';
import { runCorrections } from './run-corrections.js';
import type { CorrectionTools } from './tools.js';

let database: TestDatabase;
let db: Database;
let rig: ReplayRig;
let tools: CorrectionTools;
type Steps = ReturnType<typeof correctionSteps>;
let desk: Steps['desk'];
let read: Steps['read'];
let draft: Steps['draft'];
let approve: Steps['approve'];
let approved: Steps['approved'];
let draftBatch: Steps['draftBatch'];
let approveBatch: Steps['approveBatch'];
beforeAll(async () => {
  database = await testDatabase('operator_corrections');
  db = await openOperatorDatabase(database.url);
  rig = openReplayRig(db);
});
afterAll(async () => {
  await db?.close();
  await database?.drop();
});
beforeEach(async () => {
  await rig.clear();
  await rig.sql('DELETE FROM correction');
  tools = correctionTools(rig);
  ({ desk, read, draft, approve, approved, draftBatch, approveBatch } = correctionSteps(tools, rig.tools));
});

const refusedAs = (type: string, more: object = {}) =>
  expect.objectContaining({ problem: expect.objectContaining({ type: `urn:lead-delivery:problem:${type}`, ...more }) });

describe('a lead that is corrected', () => {
  it('is left out of batches, which name the correction, until that has ended or its draft is too old', async () => {
    const eventId = await rig.dead();
    const [before, batch] = [await draftBatch(), await draftBatch()];
    const { hash } = await desk.check(before, author);
    const id = await draft(eventId);
    expect((await desk.check(batch, author)).verdicts).toEqual({ already_in_batch: 1 });
    const { items } = await desk.items(batch, { after: 0, limit: 1 }, author);
    expect(items).toMatchObject([{ detail: `correction ${id}` }]);
    await expect(approveBatch(before, hash)).rejects.toEqual(refusedAs('correction-open', { correction_id: id }));
    await rig.sql("UPDATE correction SET expires_at = clock_now() - interval '1 second'");
    expect((await desk.check(batch, author)).verdicts).toEqual({ eligible: 1 });
  });

  it('is neither drafted nor approved while a batch has it, which the refusal names', async () => {
    const eventId = await rig.dead();
    const batch = await draftBatch();
    const { hash } = await desk.check(batch, author);
    const early = await draft(eventId);
    await rig.sql("UPDATE correction SET state = 'expired'");
    await approveBatch(batch, hash);
    const refused = refusedAs('item-in-batch', { batch_id: batch });
    await expect(draft(eventId)).rejects.toEqual(refused);
    await rig.sql("UPDATE correction SET state = 'draft'");
    await expect(approve(early)).rejects.toEqual(refused);
    expect(await read(early)).toMatchObject({ state: 'draft', item_id: null });
  });

  it('is sent although a hundred others wait for their end', async () => {
    const others = `INSERT INTO correction (correction_id, state, event_id, destination, service, organization, lead_ref, revision, fields, generation,
      operations, hash, author, reason, created_at, expires_at, approved_at, item_id, not_after)
      SELECT gen_random_uuid(), 'sent', gen_random_uuid(), 'crm', 'crm-writer', 'demo', 'L-1', 2, '{}', 1, '[]', '', 'a', 'r', clock_now(), clock_now(),
        clock_now() - interval '1 minute', gen_random_uuid(), clock_now() + interval '1 hour' FROM generate_series(1, 100)`;
    await rig.sql(others);
    const id = await approved(await rig.dead());
    await runCorrections(tools);
    expect(await read(id)).toMatchObject({ state: 'sent' });
  });

  it('ends as refused once its owner closed the item that came, and as delivered once it was applied', async () => {
    const [refused, applied] = [await approved(await rig.dead()), await approved(await rig.dead())];
    await runCorrections(tools);
    const { event_id, item_id } = await read(refused);
    rig.replays.delivery(event_id).closed.add(item_id ?? randomUUID());
    await rig.deliver();
    await runCorrections(tools);
    expect(await read(refused)).toMatchObject({ state: 'failed', code: 'refused' });
    expect(await read(applied)).toMatchObject({ state: 'done' });
  });

  it('stands in the audit when nobody approved its draft in time', async () => {
    const eventId = await rig.dead();
    const id = await draft(eventId);
    await rig.sql("UPDATE correction SET expires_at = clock_now() - interval '1 second'");
    await runCorrections(tools);
    const subject = { correction_id: id, event_id: eventId, destination: 'crm', state: 'expired', code: 'not_approved' };
    const entries = await rig.sql(
      "SELECT person, organization, subject FROM audit WHERE action = 'correction.end' AND subject->>'correction_id' = $1",
      [id],
    );
    expect(entries).toEqual([{ person: 'operator', organization: 'demo', subject }]);
  });

  it('is listed for whoever may see it, the newest first, a page at a time, and a draft that is too old as expired', async () => {
    const leads = [await rig.dead(), await rig.dead(), await rig.dead()];
    const drafts: string[] = [];
    for (const eventId of leads) drafts.unshift(await draft(eventId));
    const list = (query: object, organizations: Person['organizations'] = '*') =>
      listCorrections(db, correctionsQuery.parse(query), { ...author, organizations });
    const idsOf = ({ items }: Awaited<ReturnType<typeof list>>) => items.map(({ correction_id: id }) => id);
    const first = await list({ limit: 2 });
    expect(idsOf(first)).toEqual(drafts.slice(0, 2));
    expect(idsOf(await list({ limit: 2, after: first.next }))).toEqual(drafts.slice(2));
    expect(idsOf(await list({ event_id: leads[0] }))).toEqual(drafts.slice(2));
    expect(idsOf(await list({}, ['demo']))).toEqual(drafts);
    expect(idsOf(await list({}, ['other']))).toEqual([]);
    await approve(drafts[1] ?? '');
    await rig.sql("UPDATE correction SET expires_at = clock_now() - interval '1 second' WHERE correction_id = $1", [drafts[2]]);
    expect(idsOf(await list({ state: 'draft' }))).toEqual(drafts.slice(0, 1));
    expect(idsOf(await list({ state: 'approved' }))).toEqual(drafts.slice(1, 2));
    expect((await list({ state: 'expired' })).items).toMatchObject([{ correction_id: drafts[2], state: 'expired' }]);
  });
});
