import type { Database } from '#runtime';
import { editRequest } from '../../../apps/operator/src/batches/filter.js';
import { author, largeBatch, largeBatchTools } from '../../../apps/operator/test/large-batch.js';
import { measured } from '../../../apps/operator/test/measured.js';
import type { BenchResult } from '../report.js';

/** Each step of one batch of all open letters, their owner answering at once. */
export async function benchLargeBatch(db: Database): Promise<BenchResult[]> {
  const watched = measured(db);
  const batch = largeBatch(largeBatchTools(watched.db));
  const results: BenchResult[] = [];
  let items = 0;
  const timed = async <T>(what: string, run: () => Promise<T>): Promise<T> => {
    watched.statementMs.clear();
    watched.transactionMs.length = 0;
    const begun = performance.now();
    const result = await run();
    const ours = (performance.now() - begun) / 1_000;
    const [slowest = ['none', 0]] = [...watched.statementMs].toSorted(([, one], [, other]) => other - one);
    const longest = Math.round(Math.max(0, ...watched.transactionMs));
    const note = `slowest statement ${slowest[0]} ${Math.round(slowest[1])} ms; longest transaction ${longest} ms`;
    results.push({ what, unit: 's', ours, note });
    return result;
  };
  const draft = await timed('draft', () => batch.draft({ source: 'website' }, 100_000));
  items = draft.items;
  const checked = await timed('dry run', () => batch.desk.check(draft.batch_id, author));
  await timed('approval', () => batch.approve(draft.batch_id, checked.hash));
  await timed('report with counts', () => batch.desk.report(draft.batch_id, author));
  await timed('edit after the approval', () => batch.desk.edit(draft.batch_id, editRequest.parse({ rate_per_s: 300 }), author));
  await timed('export as CSV', () => batch.csvLines(draft.batch_id));
  await timed('stop', () => batch.desk.command('stop', { batchId: draft.batch_id, person: author, reason: 'done' }));
  return results.map((result) => ({ ...result, what: `a batch of ${items.toLocaleString('en')} items: ${result.what}` }));
}
