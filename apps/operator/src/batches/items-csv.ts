import type { Sql } from '#runtime';
import type { Person } from '../people/person.js';
import { readBatchRow } from './batch-row.js';
import { csvLine } from './csv.js';
import { type BatchItem, listItems } from './read-batches.js';

const columns: readonly [string, (item: BatchItem) => string | number | boolean | null][] = [
  ['position', ({ position }) => position],
  ['event_id', ({ event_id }) => event_id],
  ['destination', ({ destination }) => destination],
  ['organization', ({ organization }) => organization],
  ['verdict', ({ verdict }) => verdict],
  ['state', ({ state }) => state],
  ['detail', ({ detail }) => detail],
  ['letter_class', ({ letter_class }) => letter_class],
  ['class', (item) => item.class],
  ['code', ({ code }) => code],
  ['canary', ({ canary }) => canary],
  ['found', ({ found }) => found],
  [
    'references',
    ({ refs }) =>
      Object.entries(refs)
        .map(([kind, ref]) => `${kind}=${ref}`)
        .join(' '),
  ],
  ['operation_keys', ({ operation_keys }) => operation_keys.join(' ')],
  ['repair', ({ repair = [] }) => repair.map(({ repair: what, kind, ref = '' }) => `${what} ${kind} ${ref}`.trim()).join('; ')],
  ['duration_ms', ({ duration_ms }) => duration_ms],
  ['sent_at', ({ sent_at }) => sent_at],
  ['original_deadline_at', ({ original_deadline_at }) => original_deadline_at],
  ['closed_at', ({ closed_at }) => closed_at],
  ['item_id', ({ item_id }) => item_id],
];
const pageSize = 500;

/** Every item of a batch as CSV, page by page. Rejects with the refusal 404 before the first line. */
export async function itemsCsv(db: Sql, batchId: string, person: Person): Promise<AsyncIterable<string>> {
  await readBatchRow(db, batchId, person);
  return pages(db, batchId, person);
}

async function* pages(db: Sql, batchId: string, person: Person): AsyncGenerator<string> {
  yield csvLine(columns.map(([name]) => name));
  for (let after = 0; ; ) {
    const { items, next } = await listItems(db, { batchId, person, page: { after, limit: pageSize } });
    if (items.length > 0) yield items.map((item) => csvLine(columns.map(([, value]) => value(item)))).join('');
    if (next === undefined) return;
    after = Number(next);
  }
}
