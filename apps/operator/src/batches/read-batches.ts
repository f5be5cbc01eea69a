import { z } from 'zod';
import type { Sql } from '#runtime';
import { organizationsValue, type Person } from '../people/person.js';
import type { RepairStep } from '../reconciliation/repair-plan.js';
import { type BatchRow, batchColumns, readBatchRow } from './batch-row.js';
import { type Counted, countItems } from './count-items.js';
import { batchStates } from './machine/batch-state.js';

export const batchesRequest = z.strictObject({
  state: z.enum(batchStates).optional(),
  /** `next` of the page before. */
  after: z.uuid().optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

export const itemsRequest = z.strictObject({
  /** A state of the item, or a verdict. */
  outcome: z.string().min(1).max(40).optional(),
  after: z.coerce.number().int().min(0).max(2_147_483_647).default(0),
  limit: z.coerce.number().int().min(1).max(500).default(100),
});

const time = z.string();

/** A batch as the API shows it. */
export const batchReport = z.object({
  batch_id: z.uuid(),
  state: z.enum(batchStates),
  hash: z.string(),
  author: z.string(),
  edited_by: z
    .string()
    .nullable()
    .describe('Who changed it last, and approves it no more than its author does; null: nobody since the draft.'),
  approver: z.string().nullable(),
  /** The door that the approval came through. */
  approved_by: z.string().nullable(),
  policy: z.string(),
  reason: z.string().nullable(),
  selection: z.record(z.string(), z.unknown()),
  caps: z.object({
    max: z.number(),
    rate_per_s: z.number(),
    concurrency: z.number(),
    max_duration_ms: z.number(),
    new_deadline_ms: z.number(),
  }),
  /** Items by what they are; `open`: sent or not, without an end. */
  counts: z.object({
    items: z.number(),
    eligible: z.number(),
    approved: z.number(),
    sent: z.number(),
    succeeded: z.number(),
    failed: z.number(),
    uncertain: z.number(),
    ended: z.number(),
    stopped: z.number(),
    not_applied: z.number(),
    skipped: z.number(),
    open: z.number(),
  }),
  verdicts: z.record(z.string(), z.number()),
  canary: z.object({ size: z.number(), ended: z.number(), verified: z.number(), lookups: z.number(), vouched_by: z.string().optional() }),
  /** Why it is paused, stopped or expired: `by_person`, or a word for what the runner saw. */
  why: z.object({ code: z.string(), detail: z.string().nullable() }).optional(),
  stopped_by: z.string().optional(),
  paused_from: z.string().optional(),
  created_at: time,
  checked_at: time.nullable(),
  approved_at: time.nullable(),
  approval_expires_at: time.nullable(),
  began_at: time.nullable(),
  running_at: time.nullable(),
  not_after: time.nullable(),
  deadline_at: time.nullable(),
  ended_at: time.nullable(),
  ended_by: z.string().nullable(),
  /** Items per second that went out in the last ten seconds. */
  rate_now: z.number(),
  /** Share of the approved items that have ended, 0 to 1. */
  progress: z.number(),
});
export type BatchReport = z.infer<typeof batchReport>;

export const batchItem = z.object({
  item_id: z.uuid(),
  event_id: z.uuid(),
  destination: z.string(),
  service: z.string(),
  organization: z.string().nullable(),
  position: z.number(),
  /** listed, open, skipped, succeeded, failed, uncertain, ended, stopped or not_applied */
  state: z.string(),
  verdict: z.string().nullable(),
  detail: z.string().nullable(),
  letter_class: z.string().nullable(),
  class: z.string().nullable(),
  code: z.string().nullable(),
  canary: z.boolean(),
  /** What lookups at the destination found: one, several, none, unknown or no_lookup. */
  found: z.string().nullable(),
  lookups: z.number(),
  refs: z.record(z.string(), z.string()),
  operation_keys: z.array(z.string()),
  repair: z
    .array(z.object({ discrepancy_id: z.string(), kind: z.string(), repair: z.enum(['create', 'update']), ref: z.string().optional() }))
    .optional()
    .describe(
      'What it does at the destination about each record that differs: makes it anew, or writes it again. Absent: it is tried again.',
    ),
  duration_ms: z.number().nullable(),
  sent_at: time.nullable(),
  original_deadline_at: time.nullable(),
  closed_at: time.nullable(),
});
export type BatchItem = z.infer<typeof batchItem>;

/** Newest first. Organizations of a batch whose items belong to none are the empty text, which nobody but those who see all may read. */
const listSql = `
SELECT ${batchColumns} FROM replay_batch b
WHERE ($1::text IS NULL OR b.state = $1) AND ($2::text[] IS NULL OR b.organizations <@ $2::text[])
  AND ($3::uuid IS NULL OR (b.created_at, b.batch_id) < (SELECT created_at, batch_id FROM replay_batch WHERE batch_id = $3))
ORDER BY b.created_at DESC, b.batch_id DESC LIMIT $4`;

/** The batches that a person may see. */
export async function listBatches(
  db: Sql,
  { state, after, limit }: z.infer<typeof batchesRequest>,
  person: Person,
): Promise<{ items: BatchReport[]; next?: string }> {
  const rows = await db.sql<BatchRow>('operator.list_batches', listSql, [state ?? null, organizationsValue(person), after ?? null, limit]);
  const items = await withCounts(db, rows);
  return { items, ...(rows.length === limit && { next: rows.at(-1)?.batch_id }) };
}

/** Throws the refusal 404. */
export async function readReport(db: Sql, batchId: string, person: Person): Promise<BatchReport> {
  const [report] = await withCounts(db, [await readBatchRow(db, batchId, person)]);
  return report as BatchReport;
}

async function withCounts(db: Sql, rows: readonly BatchRow[]): Promise<BatchReport[]> {
  if (rows.length === 0) return [];
  const counted = await countItems(
    db,
    rows.map(({ batch_id }) => batch_id),
  );
  return rows.map((row) => toReport(row, counted.get(row.batch_id) as Counted));
}

const iso = (at: Date | null): string | null => at?.toISOString() ?? null;
const recentS = 10;

function toReport(row: BatchRow, { canary_ended, canary_verified, recent, verdicts, ...counts }: Counted): BatchReport {
  const ended = counts.approved - counts.open;
  return {
    batch_id: row.batch_id,
    state: row.state,
    hash: row.hash,
    author: row.author,
    edited_by: row.edited_by,
    approver: row.approver,
    approved_by: row.approved_by,
    policy: row.policy,
    reason: row.reason,
    selection: row.selection as Record<string, unknown>,
    caps: {
      max: row.maximum,
      rate_per_s: row.rate_per_s,
      concurrency: row.concurrency,
      max_duration_ms: Number(row.max_duration_ms),
      new_deadline_ms: Number(row.new_deadline_ms),
    },
    counts,
    verdicts,
    canary: {
      size: row.canary_size,
      ended: canary_ended,
      verified: canary_verified,
      lookups: row.canary_lookups,
      ...(row.canary_vouched_by !== null && { vouched_by: row.canary_vouched_by }),
    },
    ...(row.why !== null && { why: { code: row.why, detail: row.why_detail } }),
    ...(row.state === 'stopped' && { stopped_by: row.why === 'by_person' ? (row.ended_by ?? '') : (row.why ?? '') }),
    ...(row.paused_from !== null && { paused_from: row.paused_from }),
    created_at: row.created_at.toISOString(),
    checked_at: iso(row.checked_at),
    approved_at: iso(row.approved_at),
    approval_expires_at: iso(row.approval_expires_at),
    began_at: iso(row.began_at),
    running_at: iso(row.running_at),
    not_after: iso(row.not_after),
    deadline_at: iso(row.deadline_at),
    ended_at: iso(row.ended_at),
    ended_by: row.ended_by,
    rate_now: recent / recentS,
    progress: counts.approved === 0 ? 0 : ended / counts.approved,
  };
}

type ItemRow = Omit<BatchItem, 'sent_at' | 'original_deadline_at' | 'closed_at' | 'repair'> & {
  steps: RepairStep[] | null;
  sent_at: Date | null;
  original_deadline_at: Date | null;
  closed_at: Date | null;
};

const itemsSql = `
SELECT item_id, event_id, destination, service, organization, position, state, verdict, detail, letter_class, class, code, canary, found, lookups,
  refs, operation_keys, repair -> 'steps' AS steps, duration_ms, sent_at, original_deadline_at, closed_at
FROM replay_item WHERE batch_id = $1 AND position > $2 AND ($3::text IS NULL OR state = $3 OR verdict = $3) ORDER BY position LIMIT $4`;

export interface ItemsPage {
  items: BatchItem[];
  next?: string;
}

/** Items in the order in which they are sent. Throws the refusal 404. */
export async function listItems(
  db: Sql,
  { batchId, person, page }: { batchId: string; person: Person; page: z.infer<typeof itemsRequest> },
): Promise<ItemsPage> {
  await readBatchRow(db, batchId, person);
  const { outcome, after, limit } = page;
  const rows = await db.sql<ItemRow>('operator.list_items', itemsSql, [batchId, after, outcome ?? null, limit]);
  const items = rows.map(
    ({ steps, ...row }): BatchItem => ({
      ...row,
      ...(steps !== null && { repair: steps.map(({ discrepancy_id, kind, repair, ref }) => ({ discrepancy_id, kind, repair, ref })) }),
      sent_at: iso(row.sent_at),
      original_deadline_at: iso(row.original_deadline_at),
      closed_at: iso(row.closed_at),
    }),
  );
  return { items, ...(items.length === limit && { next: String(items.at(-1)?.position) }) };
}
