import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Database, metrics } from '#runtime';
import { eventually, type TestDatabase, testDatabase } from '#testkit';
import { openReplayRig, personOf, type ReplayRig } from '../../test/replay-rig.js';
import { openOperatorDatabase, silent } from '../../test/rig.js';
import { publish } from '../figures.js';
import { approveBatchRequest } from './approve-batch.js';
import { BatchDesk } from './batch-desk.js';
import { halted, haltedSql } from './count-halted.js';
import { draftRequest } from './filter.js';
import { BatchRunner } from './runner/batch-runner.js';

jest.setTimeout(60_000);

const [author, approver] = [personOf('author'), personOf('approver')];

describe('the number of replay batches that a rule has halted', () => {
  let database: TestDatabase;
  let db: Database;
  let rig: ReplayRig;
  let desk: BatchDesk;
  let runner: BatchRunner;

  beforeAll(async () => {
    database = await testDatabase('operator_halted');
    db = await openOperatorDatabase(database.url);
    rig = openReplayRig(db);
  });
  afterAll(async () => {
    await db?.close();
    await database?.drop();
  });
  beforeEach(async () => {
    await rig.clear();
    runner = new BatchRunner(rig.tools);
    desk = new BatchDesk(rig.tools, () => runner.wake());
  });
  afterEach(() => runner.stop());

  const say = (reason?: 'hold' | 'throttled') => {
    const mode = reason === undefined ? ('flowing' as const) : ('blocked' as const);
    rig.owner.destinations = async () => ({ items: [{ destination: 'crm', mode, reason, cool_downs: 0, as_of: '' }] });
  };
  /** A batch that its runner finds when the destination is held. */
  const paused = async () => {
    say();
    await rig.dead();
    const draft = draftRequest.parse({ filter: { destination: 'crm' }, reason: 'mended' });
    const { batch_id } = await desk.draft(draft, author);
    const { hash } = await desk.check(batch_id, author);
    await desk.approve(batch_id, approveBatchRequest.parse({ hash }), approver);
    expect(await counted()).toEqual([]);
    say('hold');
    runner.start();
    await until(batch_id, 'paused');
    return batch_id;
  };
  const until = (batchId: string, wanted: string) =>
    eventually(`the batch to be ${wanted}`, async () => (await desk.report(batchId, author)).state === wanted, { timeoutMs: 30_000 });
  const counted = async () => {
    await publish(halted, db, silent)();
    const { values } = await metrics.replayBatchesHalted.get();
    return values.map(({ labels, value }) => [labels.state, labels.reason, value]).sort();
  };

  it('has one that was paused because its destination is held, until somebody does something with it', async () => {
    const batchId = await paused();
    expect(await counted()).toEqual([['paused', 'destination_held', 1]]);
    await desk.command('stop', { batchId, person: author, reason: 'not today' });
    expect(await counted()).toEqual([]);
  });

  it('has one that a rule stopped, for a day', async () => {
    const batchId = await paused();
    say('throttled');
    await desk.command('resume', { batchId, person: approver });
    await until(batchId, 'stopped');
    expect(await counted()).toEqual([['stopped', 'throttled', 1]]);
    await rig.sql("UPDATE replay_batch SET ended_at = clock_now() - interval '24 hours'");
    expect(await counted()).toEqual([]);
  });

  it('has none that a person paused', async () => {
    const batchId = await paused();
    await runner.stop();
    await desk.command('resume', { batchId, person: approver });
    await desk.command('pause', { batchId, person: author, reason: 'look' });
    expect(await counted()).toEqual([]);
  });

  it('is read by the indexes of what is open and of what is new', async () => {
    await rig.sql(`INSERT INTO replay_batch (batch_id, state, maximum, selection, created_at, ended_at, ended_by, why)
      SELECT gen_random_uuid(), 'stopped', 1, '{}', clock_now() - interval '25 days' - n * interval '1 minute', clock_now(), 'runner', 'slow'
      FROM generate_series(1, 20000) n`);
    // Autovacuum's part: without it the planner knows nothing of the table.
    await rig.sql('ANALYZE replay_batch');
    const plan = (await rig.sql<{ 'QUERY PLAN': string }>(`EXPLAIN ${haltedSql}`)).map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toContain('replay_batch_open');
    expect(plan).toContain('replay_batch_created');
    expect(plan).not.toContain('Seq Scan on replay_batch');
  });
});
