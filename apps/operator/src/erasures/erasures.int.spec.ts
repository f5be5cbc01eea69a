import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { DestinationReference, OwnerEraseAnswer, SubjectAnswer } from '#contracts';
import { type Database, InternalUnavailable, newEventId } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { cutAfter } from '../../test/cut-database.js';
import { openReplayRig, personOf, type ReplayRig } from '../../test/replay-rig.js';
import { openOperatorDatabase, silent } from '../../test/rig.js';
import { approveErasure } from './approve-erasure.js';
import { draftErasure, type ErasureTools, erasureRequest } from './draft-erasure.js';
import { ErasureServices } from './erasure-services.js';
import { finishTask } from './finish-task.js';
import { runErasures, tidyErasures } from './run-erasures.js';
import { erasuresQuery, listErasures, showErasure } from './show-erasure.js';

const [author, approver] = [personOf('author'), personOf('approver')];
const nina = personOf('nina', { organizations: ['other'] });

/** Intake and one owner, as a test tells them: what they hold goes when they are told to erase it, unless it is unfinished. */
class Pretended {
  leads: SubjectAnswer['leads'] = [];
  /** What a refused record among them became meanwhile. */
  became: SubjectAnswer['leads'] = [];
  vault = 0;
  unfinished = 0;
  contacts = 0;
  references: DestinationReference[] = [];
  down = new Set<string>();
  told: string[] = [];
  found: unknown;
  /** Of intake, at last. */
  asked: readonly string[] = [];

  client(name: 'intake' | 'crm-writer') {
    return {
      post: async <T>(path: string, body: unknown): Promise<T> => {
        if (this.down.has(name)) throw new InternalUnavailable('down');
        if (path.endsWith('erasures:find')) {
          this.found = body;
          return { keys: [{ kind: 'email', organization: 'demo', key: '-42' }], leads: this.leads, places: {}, more: false } as T;
        }
        const { dry_run, event_ids } = body as { dry_run: boolean; event_ids?: string[] };
        if (!dry_run) this.told.push(name);
        return (name === 'intake' ? this.intake(dry_run, event_ids ?? []) : this.owner(dry_run)) as T;
      },
    };
  }

  private intake(dryRun: boolean, eventIds: readonly string[]) {
    this.asked = eventIds;
    if (!dryRun) this.vault = 0;
    return {
      places: { vault_revisions: this.vault },
      leads: dryRun ? [] : this.became.filter(({ event_id }) => !eventIds.includes(event_id)),
    };
  }

  private owner(dryRun: boolean): OwnerEraseAnswer {
    if (!dryRun && this.unfinished === 0) this.contacts = 0;
    return { places: { open: 0, unfinished: this.unfinished, person_keys: 0, contacts: this.contacts }, references: this.references };
  }
}

let database: TestDatabase;
let db: Database;
let rig: ReplayRig;
let pretended: Pretended;
let tools: ErasureTools;
beforeAll(async () => {
  database = await testDatabase('operator_erasures');
  db = await openOperatorDatabase(database.url);
  rig = openReplayRig(db);
});
afterAll(async () => {
  await db?.close();
  await database?.drop();
});
beforeEach(begin);
async function begin(): Promise<void> {
  await rig.clear();
  for (const table of ['erasure', 'erasure_lead', 'erasure_place', 'erasure_task']) await rig.sql(`DELETE FROM ${table}`);
  pretended = new Pretended();
  const clients = new Map([
    ['intake', pretended.client('intake')],
    ['crm-writer', pretended.client('crm-writer')],
  ]);
  tools = { db, services: new ErasureServices(clients, ['crm-writer']), logger: silent };
}

const leadOf = (event_id: string, organization = 'demo') => ({
  ...{ event_id, lead_ref: 'L-1', organization, source: 'website', person_key: 'hashed', whole_person: true },
});
async function subject(): Promise<string> {
  const eventId = await rig.dead();
  pretended.leads = [leadOf(eventId)];
  pretended.vault = 1;
  pretended.contacts = 1;
  pretended.references = [{ destination: 'crm', kind: 'contact', ref: 'C-1' }];
  return eventId;
}
const draft = (person = author) =>
  draftErasure(tools, erasureRequest.parse({ email: 'ada@example.test', reason: 'asked by letter' }), person);
const show = (id: string, person = author) => showErasure(db, id, person);
const approve = async (id: string, hash?: string, person = approver) =>
  approveErasure(tools, id, { hash: hash ?? (await show(id)).hash, person });
const approved = async () => {
  const id = await draft();
  await approve(id);
  return id;
};
const counted = async (id: string) =>
  Object.fromEntries((await show(id)).places.map(({ place, before, after }) => [place, [before, after]]));
const refusedAs = (type: string) =>
  expect.objectContaining({ problem: expect.objectContaining({ type: `urn:lead-delivery:problem:${type}` }) });

describe('an erasure', () => {
  it('lists every place, erases nothing before its approval, and shows before and after as counted', async () => {
    const eventId = await subject();
    const id = await draft();
    expect(pretended.told).toEqual([]);
    await runErasures(tools);
    expect(pretended.told).toEqual([]);
    expect(await counted(id)).toMatchObject({
      'intake vault_revisions': [1, null],
      'crm-writer contacts': [1, null],
      'operator dead_letter_records': [1, null],
    });
    await approve(id);
    await runErasures(tools);
    expect(await show(id)).toMatchObject({
      state: 'tasks',
      approver: 'approver',
      tasks: [{ destination: 'crm', ref: 'C-1', done: false }],
    });
    expect(await counted(id)).toMatchObject({
      'intake vault_revisions': [1, 0],
      'crm-writer contacts': [1, 0],
      'operator dead_letter_records': [1, 0],
    });
    expect(await rig.sql('SELECT event, record_key FROM dead_letter WHERE event_id = $1', [eventId])).toEqual([
      { event: null, record_key: null },
    ]);
    expect(await rig.sql('SELECT person_key FROM erasure_lead')).toEqual([{ person_key: null }]);
    const everything = JSON.stringify([await show(id), await rig.sql('SELECT * FROM audit')]);
    expect(everything).not.toMatch(/ada@/);
  });

  it('is complete only when every service has acknowledged and every task is done', async () => {
    await subject();
    pretended.unfinished = 1;
    const id = await approved();
    await runErasures(tools);
    expect(await show(id)).toMatchObject({ state: 'running' });
    expect(await counted(id)).toMatchObject({
      'intake vault_revisions': [1, 0],
      'crm-writer unfinished': [1, 1],
      'crm-writer contacts': [1, 1],
    });
    // What was in flight has written another record.
    pretended.unfinished = 0;
    pretended.references = [...pretended.references, { destination: 'crm', kind: 'lead', ref: 'R-2' }];
    await runErasures(tools);
    const { state, tasks } = await show(id);
    expect([state, tasks.map(({ ref }) => ref)]).toEqual(['tasks', ['C-1', 'R-2']]);
    for (const { task_id } of tasks) await finishTask(db, { erasureId: id, taskId: task_id }, author);
    const { completed_at } = await show(id);
    expect(await show(id)).toMatchObject({ state: 'complete', tasks: [{ done_by: 'author' }, { done_by: 'author' }] });
    await finishTask(db, { erasureId: id, taskId: tasks[0]?.task_id ?? '' }, approver);
    expect((await show(id)).completed_at).toBe(completed_at);
    await expect(finishTask(db, { erasureId: id, taskId: newEventId() }, author)).rejects.toEqual(refusedAs('not-found'));
  });

  it('takes in the lead that a refused record of it became meanwhile, and is not over before that lead is erased as well', async () => {
    const refused = await subject();
    pretended.leads = [{ ...leadOf(refused), lead_ref: null, whole_person: false }];
    const id = await approved();
    const lead = { ...leadOf(newEventId(), 'other'), lead_ref: 'L-2' };
    pretended.became = [lead];
    await runErasures(tools);
    const running = await show(id);
    expect([running.state, running.leads.map(({ lead_ref }) => lead_ref).sort()]).toEqual(['running', ['L-2', null]]);
    await expect(show(id, personOf('somebody', { organizations: ['demo'] }))).rejects.toEqual(refusedAs('not-found'));
    await runErasures(tools);
    expect([...pretended.asked].sort()).toEqual([refused, lead.event_id].sort());
    const { state, leads } = await show(id);
    expect([state, leads.map(({ event_id }) => event_id)]).toEqual(['tasks', [refused, lead.event_id].sort()]);
  });

  it('that is asked for by a refused record is approved by it, also where the lead that it became comes first', async () => {
    const lead = await subject();
    const refused = 'ffffffff-ffff-7fff-bfff-ffffffffffff';
    pretended.leads = [leadOf(lead), { ...leadOf(refused), lead_ref: null, whole_person: false }];
    const id = await draftErasure(tools, erasureRequest.parse({ event_id: refused, reason: 'asked by letter' }), author);
    await approve(id);
    expect(pretended.found).toMatchObject({ kind: 'event_id', value: refused });
  });

  it('goes on where it was after a service was away, or its runner died', async () => {
    await subject();
    const id = await approved();
    pretended.down.add('crm-writer');
    await expect(runErasures(tools)).rejects.toThrow(InternalUnavailable);
    expect(await show(id)).toMatchObject({ state: 'running' });
    pretended.down.clear();
    await rig.sql(`UPDATE erasure SET lease_owner = gen_random_uuid(), lease_until = clock_now() + interval '1 minute'`);
    await runErasures(tools);
    expect(await show(id)).toMatchObject({ state: 'running' });
    await rig.sql(`UPDATE erasure SET lease_until = clock_now() - interval '1 second'`);
    await runErasures(tools);
    expect(await show(id)).toMatchObject({ state: 'tasks' });
  });

  it('is completed once by whoever comes next, behind whichever statement its runner was killed', async () => {
    await subject();
    await approved();
    const whole = cutAfter(db, Number.POSITIVE_INFINITY);
    await runErasures({ ...tools, db: whole.db });
    for (let statements = 0; statements <= whole.count(); statements += 1) {
      await begin();
      const eventId = await subject();
      const id = await approved();
      await runErasures({ ...tools, db: cutAfter(db, statements).db }).catch(() => undefined);
      await rig.sql("UPDATE erasure SET lease_until = clock_now() - interval '1 second' WHERE lease_until IS NOT NULL");
      await runErasures(tools);
      const { state, tasks } = await show(id);
      const ended = await rig.sql("SELECT FROM audit WHERE action = 'erasure.erased' AND subject->>'erasure_id' = $1", [id]);
      const [letter] = await rig.sql('SELECT event FROM dead_letter WHERE event_id = $1', [eventId]);
      expect({ statements, state, tasks: tasks.map(({ ref }) => ref), ended: ended.length, letter }).toEqual({
        ...{ statements, state: 'tasks', tasks: ['C-1'], ended: 1, letter: { event: null } },
      });
      expect(await counted(id)).toMatchObject({ 'intake vault_revisions': [1, 0], 'operator dead_letter_records': [1, 0] });
    }
  });

  it('takes the bytes out of a letter that comes afterwards', async () => {
    const eventId = await subject();
    await approved();
    await runErasures(tools);
    await rig.sql(`UPDATE dead_letter SET event = 'late', record_key = 'late' WHERE event_id = $1`, [eventId]);
    await runErasures(tools);
    expect(await rig.sql('SELECT event, record_key FROM dead_letter')).toEqual([{ event: null, record_key: null }]);
  });
});

describe('the approval of an erasure', () => {
  it('is another person’s, once, of what that person looked at, and not too late', async () => {
    await subject();
    const id = await draft();
    await expect(approve(id, undefined, author)).rejects.toEqual(refusedAs('self-approval'));
    await expect(approve(id, undefined, personOf('author', { name: 'Another token' }))).rejects.toEqual(refusedAs('self-approval'));
    await expect(approve(id, '0'.repeat(64))).rejects.toEqual(refusedAs('stale-hash'));
    const both = await Promise.allSettled([approve(id), approve(id, undefined, personOf('third'))]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await expect(approve(id)).rejects.toEqual(refusedAs('erasure-not-a-draft'));
    const late = await draft();
    await rig.sql(`UPDATE erasure SET expires_at = clock_now() WHERE erasure_id = $1`, [late]);
    await expect(approve(late)).rejects.toEqual(refusedAs('draft-expired'));
    await tidyErasures(tools);
    expect(await show(late)).toMatchObject({ state: 'expired' });
    const audited = await db.sql(
      'spec.erasure_expired',
      "SELECT person, organization, subject FROM audit WHERE action = 'erasure.expire'",
      [],
    );
    expect(audited).toEqual([{ person: 'operator', organization: 'demo', subject: { erasure_id: late, state: 'expired' } }]);
  });

  it('shows the new list where there is more to erase by now, and erases nothing of it', async () => {
    const eventId = await subject();
    const id = await draft();
    const { hash } = await show(id);
    const newer = newEventId();
    pretended.leads = [...pretended.leads, leadOf(newer)];
    await expect(approve(id, hash)).rejects.toEqual(refusedAs('stale-hash'));
    const now = await show(id);
    expect(now.leads.map(({ event_id }) => event_id).sort()).toEqual([eventId, newer].sort());
    expect([now.state, now.hash === hash]).toEqual(['draft', false]);
    await runErasures(tools);
    expect(pretended.told).toEqual([]);
    await approve(id, now.hash);
    expect(await show(id)).toMatchObject({ state: 'running' });
  });

  it('and everything else is for people who may see all of its leads', async () => {
    await subject();
    const id = await draft();
    for (const act of [show(id, nina), approve(id, undefined, nina), finishTask(db, { erasureId: id, taskId: newEventId() }, nina)])
      await expect(act).rejects.toEqual(refusedAs('not-found'));
    expect((await listErasures(db, erasuresQuery.parse({}), nina)).items).toEqual([]);
    expect((await listErasures(db, erasuresQuery.parse({}), author)).items).toMatchObject([{ erasure_id: id }]);
    pretended.leads = [];
    await expect(draft()).rejects.toEqual(refusedAs('not-found'));
  });

  it('is needed before a task can be done', async () => {
    await subject();
    const id = await draft();
    const [task] = (await show(id)).tasks;
    await expect(finishTask(db, { erasureId: id, taskId: task?.task_id ?? '' }, author)).rejects.toEqual(refusedAs('erasure-not-approved'));
  });
});

describe('what asks for an erasure', () => {
  it.each([
    [{ reason: 'asked' }],
    [{ reason: 'asked', email: 'a@example.test', phone: '+12025550123' }],
    [{ email: 'a@example.test' }],
    [{ email: 'a@example.test', reason: 'for a@example.test' }],
    [{ event_id: 'none', reason: 'asked' }],
  ])('is refused as %j', (body) => {
    expect(erasureRequest.safeParse(body).success).toBe(false);
  });
});
