import { z } from 'zod';
import { discrepancyClasses, discrepancyStates, type ListDiscrepanciesRequest } from '#delivery';
import type { Sql } from '#runtime';
import { csvLine } from '../batches/csv.js';
import { mayRead, type Person } from '../people/person.js';
import { type ReconcilerApi, reconcilerPage } from './reconciler-api.js';
import { type DiscrepancyItem, withRunbook } from './shapes.js';

const name = z.string().min(1).max(512);

/** What is named must be equal. */
const discrepancyFilter = {
  class: z.enum(discrepancyClasses).optional(),
  destination: name.optional(),
  state: z.enum(discrepancyStates).optional(),
  owner: name.optional(),
  run_id: z.uuid().optional().describe('Of the run that found it first, or saw it last.'),
  event_id: z.uuid().optional(),
};
export const exportQuery = z.strictObject(discrepancyFilter);
export const discrepanciesQuery = z.strictObject({
  ...discrepancyFilter,
  after: z.string().min(1).max(600).optional().describe('`next` of the page before.'),
  limit: z.coerce.number().int().min(1).max(reconcilerPage).default(50),
});
export type DiscrepancyFilter = z.infer<typeof exportQuery>;

export interface DiscrepancyPage {
  items: DiscrepancyItem[];
  next?: string;
}

export interface DiscrepancyTools {
  db: Sql;
  reconciler: Pick<ReconcilerApi, 'discrepancies'>;
}

/** Pages that are passed over at most while nothing of them may be seen. */
const mostPassed = 20;

/** Discrepancies of leads that the person may see, oldest first. Rejects with the refusal 503. */
export async function listDiscrepancies(
  { db, reconciler }: DiscrepancyTools,
  { limit, after, ...filter }: DiscrepancyFilter & { limit: number; after?: string },
  person: Person,
): Promise<DiscrepancyPage> {
  const asked = { ...requestOf(filter, person), limit };
  let page = await reconciler.discrepancies({ ...asked, after });
  let seen = page.items.filter(({ organization }) => mayRead(person, organization));
  for (let passed = 0; seen.length === 0 && page.next !== undefined && passed < mostPassed; passed += 1) {
    page = await reconciler.discrepancies({ ...asked, after: page.next });
    seen = page.items.filter(({ organization }) => mayRead(person, organization));
  }
  const items = await withBatches(db, seen.map(withRunbook));
  return { items, ...(page.next !== undefined && { next: page.next }) };
}

/** By their ids, in no order; what the person may not see is left out. Rejects with the refusal 503. */
export async function readDiscrepancies(
  { reconciler }: Pick<DiscrepancyTools, 'reconciler'>,
  ids: readonly string[],
  person: Person,
): Promise<DiscrepancyItem[]> {
  const found: DiscrepancyItem[] = [];
  for (let at = 0; at < ids.length; at += reconcilerPage) {
    const part = ids.slice(at, at + reconcilerPage);
    const { items } = await reconciler.discrepancies({ ids: part, limit: part.length });
    found.push(...items.filter(({ organization }) => mayRead(person, organization)).map(withRunbook));
  }
  return found;
}

function requestOf({ event_id, ...filter }: DiscrepancyFilter, { organizations }: Person): ListDiscrepanciesRequest {
  return {
    ...filter,
    ...(event_id !== undefined && { event_ids: [event_id] }),
    ...(organizations !== '*' && { organizations: [...organizations] }),
  };
}

const batchesSql = `
SELECT DISTINCT ON (d.id) d.id, i.batch_id FROM unnest($1::uuid[]) AS d(id)
  JOIN replay_item i ON i.discrepancy_ids @> ARRAY[d.id] JOIN replay_batch b USING (batch_id) ORDER BY d.id, b.created_at DESC`;

async function withBatches(db: Sql, items: DiscrepancyItem[]): Promise<DiscrepancyItem[]> {
  if (items.length === 0) return items;
  const ids = items.map(({ discrepancy_id }) => discrepancy_id);
  const rows = await db.sql<{ id: string; batch_id: string }>('operator.discrepancy_batches', batchesSql, [ids]);
  const byId = new Map(rows.map(({ id, batch_id }) => [id, batch_id]));
  return items.map((item) => {
    const batch_id = byId.get(item.discrepancy_id);
    return batch_id === undefined ? item : { ...item, batch_id };
  });
}

type Field = Parameters<typeof csvLine>[0][number];
const columns: readonly [string, (item: DiscrepancyItem) => Field][] = [
  ['discrepancy_id', (item) => item.discrepancy_id],
  ['class', (item) => item.class],
  ['aspect', ({ aspect }) => aspect],
  ['state', ({ state }) => state],
  ['urgency', ({ urgency }) => urgency],
  ['owner', ({ owner }) => owner],
  ['destination', ({ destination }) => destination],
  ['organization', ({ organization }) => organization],
  ['event_id', ({ event_id }) => event_id],
  ['lead_ref', ({ lead_ref }) => lead_ref],
  ['kind', ({ kind }) => kind],
  ['reference', ({ ref }) => ref],
  ['fields', ({ fields }) => fields.join(' ')],
  ['evidence', ({ evidence }) => JSON.stringify(evidence)],
  ['repair', ({ repair }) => repair],
  ['next_step', ({ next_step }) => next_step],
  ['first_seen_at', ({ first_seen_at }) => first_seen_at],
  ['last_seen_at', ({ last_seen_at }) => last_seen_at],
  ['last_run_id', ({ last_run_id }) => last_run_id],
  ['by', ({ by }) => by],
  ['approver', ({ approver }) => approver],
  ['item_id', ({ item_id }) => item_id],
  ['result', ({ result }) => result],
  ['batch_id', ({ batch_id }) => batch_id],
  ['runbook', ({ runbook }) => runbook],
];

/** Everything that a filter finds as CSV, page by page. Rejects with the refusal 503 before the first line. */
export async function discrepanciesCsv(tools: DiscrepancyTools, filter: DiscrepancyFilter, person: Person): Promise<AsyncIterable<string>> {
  const first = await listDiscrepancies(tools, { ...filter, limit: reconcilerPage }, person);
  return pages(tools, { filter, person, first });
}

async function* pages(
  tools: DiscrepancyTools,
  { filter, person, first }: { filter: DiscrepancyFilter; person: Person; first: DiscrepancyPage },
): AsyncGenerator<string> {
  yield csvLine(columns.map(([heading]) => heading));
  for (let page = first; ; ) {
    if (page.items.length > 0) yield page.items.map((item) => csvLine(columns.map(([, value]) => value(item)))).join('');
    if (page.next === undefined) return;
    page = await listDiscrepancies(tools, { ...filter, limit: reconcilerPage, after: page.next }, person);
  }
}
