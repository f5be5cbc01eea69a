import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Database } from '#runtime';
import { type TestDatabase, testDatabase, testSize } from '#testkit';
import { author, largeBatch, largeBatchTools } from '../../test/large-batch.js';
import { storeMany } from '../../test/many-letters.js';
import { type Measured, measured } from '../../test/measured.js';
import { openOperatorDatabase } from '../../test/rig.js';
import { keepCounts } from './count-items.js';
import { editRequest } from './filter.js';

jest.setTimeout(600_000);

/** Every 50th letter is closed. */
const count = testSize() === 'long' ? 100_000 : 5_200;
const letters = Math.ceil((count * 50) / 49);

let database: TestDatabase;
let real: Database;
let watched: Measured;
let batch: ReturnType<typeof largeBatch>;
beforeAll(async () => {
  database = await testDatabase('large_batches');
  real = await openOperatorDatabase(database.url);
  await storeMany(real, letters);
  watched = measured(real);
  batch = largeBatch(largeBatchTools(watched.db));
});
afterAll(async () => {
  await real?.close();
  await database?.drop();
});

const statesOf = async (batchId: string): Promise<Record<string, number>> =>
  Object.fromEntries(
    (
      await real.sql<{ state: string; items: number }>(
        'spec.states',
        'SELECT state, count(*)::int AS items FROM replay_item WHERE batch_id = $1 GROUP BY state',
        [batchId],
      )
    ).map(({ state, items }) => [state, items]),
  );

describe(`a batch of ${count} items`, () => {
  it('is drafted, judged, edited, approved, exported and stopped, by statements that the server lets end', async () => {
    // It ends each that takes longer, and what asked for it fails.
    expect(await real.sql('spec.limit', 'SHOW statement_timeout', [])).toEqual([{ statement_timeout: '5s' }]);
    const draft = await batch.draft({ source: 'website' }, count);
    expect(draft.items).toBe(count);
    const checked = await batch.desk.check(draft.batch_id, author);
    expect(checked).toMatchObject({ hash: draft.hash, verdicts: { eligible: draft.items } });
    const approved = await batch.approve(draft.batch_id, checked.hash);
    expect(approved).toMatchObject({ approved: draft.items, canary: 50 });
    expect(await statesOf(draft.batch_id)).toEqual({ open: draft.items });

    // A second one of the same letters names the first, whatever there is of it.
    const twin = await batch.draft({ destination: 'crm' }, 100_000);
    const { verdicts } = await batch.desk.check(twin.batch_id, author);
    expect(verdicts).toEqual({ already_in_batch: twin.items });

    // The same limits are the same hash, in whatever order rows lie by now.
    const edited = await batch.desk.edit(draft.batch_id, editRequest.parse({ rate_per_s: 200 }), author);
    expect(edited).toMatchObject({ state: 'draft', hash: draft.hash, items: draft.items });
    expect(await statesOf(draft.batch_id)).toEqual({ listed: draft.items });
    await batch.desk.check(draft.batch_id, author);
    await batch.approve(draft.batch_id, edited.hash);
    expect(await batch.csvLines(draft.batch_id)).toBe(draft.items + 1);

    await batch.desk.command('stop', { batchId: draft.batch_id, person: author, reason: 'wrong list' });
    const [slowest] = [...watched.statementMs].sort(([, one], [, other]) => other - one);
    console.log(`slowest statement of a batch of ${count}: ${slowest?.[0]}, ${Math.round(slowest?.[1] ?? 0)} ms`);
  });

  it('is counted once when it has ended, and tells the same from then on', async () => {
    const { items } = await batch.desk.list({ limit: 50, state: 'stopped' }, author);
    const [stopped] = items;
    expect(stopped?.counts).toMatchObject({ items: count, stopped: 5_000 });
    await real.sql('spec.leave', "UPDATE replay_item SET state = 'stopped', closed_at = now() WHERE state = 'open'", []);
    await keepCounts(real);
    await real.sql('spec.forget', 'DELETE FROM replay_item WHERE batch_id = $1', [stopped?.batch_id]);
    expect((await batch.desk.report(stopped?.batch_id ?? '', author)).counts).toMatchObject({
      items: count,
      stopped: count,
      open: 0,
    });
  });
});
