import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Database } from '#runtime';
import { eventually, type TestDatabase, testDatabase } from '#testkit';
import { author, correctionSteps, correctionTools } from '../../test/corrections-rig.js';
import { cutAfter, interrupted } from '../../test/cut-database.js';
import { openReplayRig, type ReplayRig } from '../../test/replay-rig.js';
import { openOperatorDatabase } from '../../test/rig.js';
import { isRefused } from '../batches/refusals.js';
import { runCorrections } from './run-corrections.js';

let database: TestDatabase;
let db: Database;
let rig: ReplayRig;
let steps: ReturnType<typeof correctionSteps>;
beforeAll(async () => {
  database = await testDatabase('corrections_beside');
  db = await openOperatorDatabase(database.url);
  rig = openReplayRig(db);
});
afterAll(async () => {
  await db?.close();
  await database?.drop();
});
async function begin(): Promise<void> {
  await rig.clear();
  await rig.sql('DELETE FROM correction');
  steps = correctionSteps(correctionTools(rig), rig.tools);
}
beforeEach(begin);

/** A dead lead in a batch that has its dry run. */
async function checkedBatch(): Promise<{ eventId: string; batchId: string; hash: string }> {
  const eventId = await rig.dead();
  const batchId = await steps.draftBatch();
  const { hash } = await steps.desk.check(batchId, author);
  return { eventId, batchId, hash };
}
/** Approves the batch, and does something else behind a statement of that. */
const approveBatchWith = (name: string, then: () => Promise<unknown>, { batchId, hash }: { batchId: string; hash: string }) =>
  correctionSteps(correctionTools(rig), { ...rig.tools, db: interrupted(db, name, then) }).approveBatch(batchId, hash);
const itemStates = async () => (await rig.sql<{ state: string }>('SELECT state FROM replay_item')).map(({ state }) => state);
const correctionStates = async () => (await rig.sql<{ state: string }>('SELECT state FROM correction')).map(({ state }) => state);
const refusedAs = (type: string, more: object = {}) =>
  expect.objectContaining({ problem: expect.objectContaining({ type: `urn:lead-delivery:problem:${type}`, ...more }) });

describe('a batch and a correction of one delivery that are approved at the same instant', () => {
  it('give way to the correction that came between the look of the batch and its reservation', async () => {
    const batch = await checkedBatch();
    let id = '';
    const correct = async () => {
      id = await steps.approved(batch.eventId);
    };
    const refused = await approveBatchWith('operator.taken_items', correct, batch).catch((error: unknown) => error);
    expect(refused).toEqual(refusedAs('correction-open', { correction_id: id }));
    expect([await itemStates(), await correctionStates()]).toEqual([['listed'], ['approved']]);
  });

  it('give way to the batch that had reserved the delivery, although nobody could see that yet', async () => {
    const batch = await checkedBatch();
    let correcting: Promise<unknown> = Promise.resolve();
    const waiting = `SELECT pid FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())`;
    const correct = async () => {
      const id = await steps.draft(batch.eventId);
      correcting = steps.approve(id).catch((error: unknown) => error);
      await eventually('the correction to wait for the batch', async () => (await rig.sql(waiting)).length > 0);
    };
    await approveBatchWith('operator.corrected_open', correct, batch);
    expect(await correcting).toEqual(refusedAs('item-in-batch', { batch_id: batch.batchId }));
    expect([await itemStates(), await correctionStates()]).toEqual([['open'], ['draft']]);
  });

  it('are never both approved, and the other is told why, however they come', async () => {
    const told = new Set<string>();
    for (let round = 0; round < 12; round += 1) {
      await begin();
      const { eventId, batchId, hash } = await checkedBatch();
      const results = await Promise.allSettled([steps.approveBatch(batchId, hash), steps.approved(eventId)]);
      const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
      expect(refused).toHaveLength(1);
      const why = ['correction-open', 'item-in-batch'].filter((type) => isRefused(refused[0], type));
      expect(why).toHaveLength(1);
      told.add(why[0] as string);
      const applied = [
        ...(await itemStates()).filter((state) => state === 'open'),
        ...(await correctionStates()).filter((s) => s === 'approved'),
      ];
      expect(applied).toHaveLength(1);
    }
    expect(told.size).toBeGreaterThan(0);
  });
});

describe('a correction whose operator is killed', () => {
  /** Two rounds, the record given to the owner between them; whoever comes after the kill does the same. */
  const run = async (using: Database): Promise<void> => {
    const tools = { ...correctionTools(rig), db: using };
    await runCorrections(tools);
    await rig.deliver();
    await runCorrections(tools);
  };

  it('is sent, applied and ended once, behind whichever statement that was', async () => {
    await steps.approved(await rig.dead());
    const whole = cutAfter(db, Number.POSITIVE_INFINITY);
    await run(whole.db);
    expect(await correctionStates()).toEqual(['done']);
    for (let statements = 0; statements <= whole.count(); statements += 1) {
      await begin();
      const eventId = await rig.dead();
      const id = await steps.approved(eventId);
      await run(cutAfter(db, statements).db).catch(() => undefined);
      await run(db);
      const delivery = rig.replays.delivery(eventId);
      const ended = await rig.sql("SELECT FROM audit WHERE action = 'correction.end' AND subject->>'correction_id' = $1", [id]);
      expect({ statements, state: (await steps.read(id)).state, applied: delivery.applied, ended: ended.length }).toEqual({
        ...{ statements, state: 'done', applied: 1, ended: 1 },
      });
    }
  });
});
