import type { Sql, Tx } from '#runtime';
import { refusals } from '../http/refusal.js';
import type { Person } from '../people/person.js';
import type { BatchCaps } from './batch-hash.js';
import { type BatchEvent, type BatchState, hasEnded, next } from './machine/batch-state.js';
import type { CanaryCounts } from './machine/stop-rules.js';
import { batchRefusals } from './refusals.js';

/** A batch as its row says. */
export interface BatchRow {
  batch_id: string;
  state: BatchState;
  paused_from: BatchState | null;
  author: string;
  /** Who changed it last; null: nobody since it was drafted. */
  edited_by: string | null;
  approver: string | null;
  approved_by: string | null;
  policy: string;
  reason: string | null;
  selection: object;
  hash: string;
  organizations: string[];
  items: number;
  maximum: number;
  rate_per_s: number;
  concurrency: number;
  /** int8 comes as text. */
  max_duration_ms: string;
  new_deadline_ms: string;
  canary_wanted: number | null;
  canary_size: number;
  canary_lookups: number;
  canary_vouched_by: string | null;
  /** What it was vouched for against: the word that it was paused with. */
  canary_vouched_for: string | null;
  /** How much there was of it then; null: nobody vouched for a count. */
  canary_vouched_counts: CanaryCounts | null;
  created_at: Date;
  checked_at: Date | null;
  approved_at: Date | null;
  approval_expires_at: Date | null;
  began_at: Date | null;
  running_at: Date | null;
  not_after: Date | null;
  deadline_at: Date | null;
  ended_at: Date | null;
  ended_by: string | null;
  why: string | null;
  why_detail: string | null;
  lease_owner: string | null;
  /** The lease has not run out. */
  leased: boolean;
  /** The database's clock. */
  now: Date;
}

export const batchColumns = `b.batch_id, b.state, b.paused_from, b.author, b.edited_by, b.approver, b.approved_by, b.policy, b.reason, b.selection,
  b.hash, b.organizations, b.items, b.maximum, b.rate_per_s, b.concurrency, b.max_duration_ms, b.new_deadline_ms, b.canary_wanted, b.canary_size,
  b.canary_lookups, b.canary_vouched_by, b.canary_vouched_for, b.canary_vouched_counts, b.created_at, b.checked_at, b.approved_at, b.approval_expires_at, b.began_at, b.running_at, b.not_after,
  b.deadline_at, b.ended_at, b.ended_by, b.why, b.why_detail, b.lease_owner, coalesce(b.lease_until > clock_now(), false) AS leased,
  clock_now() AS now`;

const lockSql = `SELECT ${batchColumns} FROM replay_batch b WHERE b.batch_id = $1 FOR UPDATE`;
const readSql = `SELECT ${batchColumns} FROM replay_batch b WHERE b.batch_id = $1`;

/** Whether a person may see a batch: every lead of it must be of an organization that they may see. */
function mayReadBatch({ organizations }: Pick<Person, 'organizations'>, batch: Pick<BatchRow, 'organizations'>): boolean {
  return organizations === '*' || batch.organizations.every((one) => organizations.includes(one));
}

/** For the audit: whose leads a batch is about, where all are of one organization. */
export function organizationOf({ organizations }: Pick<BatchRow, 'organizations'>): string | null {
  return organizations.length === 1 ? organizations[0] || null : null;
}

/** The batch under a lock that its runner waits for. Throws the refusal 404 where there is none that the person may see. */
export async function lockBatch(tx: Tx, batchId: string, person?: Person): Promise<BatchRow> {
  const [batch] = await tx.sql<BatchRow>('operator.lock_batch', lockSql, [batchId]);
  return seenBy(batch, person);
}

/** Throws like {@link lockBatch}. */
export async function readBatchRow(db: Sql, batchId: string, person?: Person): Promise<BatchRow> {
  const [batch] = await db.sql<BatchRow>('operator.read_batch', readSql, [batchId]);
  return seenBy(batch, person);
}

function seenBy(batch: BatchRow | undefined, person: Person | undefined): BatchRow {
  if (batch === undefined || (person !== undefined && !mayReadBatch(person, batch))) throw refusals.notFound();
  return batch;
}

/** Why a batch waits for somebody to look at its destination and say that the canary is there. */
const wordsWanted: readonly string[] = ['canary_unverified', 'canary_no_lookup'];

/** Resuming it is to vouch for its canary. */
export function waitsForWord({ state, why }: Pick<BatchRow, 'state' | 'why'>): boolean {
  return state === 'paused' && why !== null && wordsWanted.includes(why);
}

/** Who made it, or edited it last. */
export function isAuthor({ author, edited_by }: Pick<BatchRow, 'author' | 'edited_by'>, { subject }: Pick<Person, 'subject'>): boolean {
  return subject === author || subject === edited_by;
}

/** A second pair of eyes is wanted, and the person's are the first. */
export function isOwnWork(batch: Pick<BatchRow, 'author' | 'edited_by' | 'policy'>, person: Pick<Person, 'subject'>): boolean {
  return batch.policy !== 'single_operator' && isAuthor(batch, person);
}

export function capsOf(batch: BatchRow): BatchCaps {
  return {
    max: batch.maximum,
    rate_per_s: batch.rate_per_s,
    concurrency: batch.concurrency,
    max_duration_ms: Number(batch.max_duration_ms),
    new_deadline_ms: Number(batch.new_deadline_ms),
    canary: batch.canary_wanted,
    reason: batch.reason,
  };
}

export interface Change {
  event: BatchEvent;
  /** Who or what; kept with the end of the batch. */
  by?: string;
  /** A word for it, and what more there is to say. Absent: what stood there is forgotten. */
  why?: string;
  detail?: string;
  /** Of a canary that somebody has to vouch for. */
  counts?: CanaryCounts;
}

const changeSql = `
UPDATE replay_batch b SET state = $2, paused_from = $3, why = $4, why_detail = $5,
  ended_at = CASE WHEN $6 THEN clock_now() ELSE b.ended_at END, ended_by = CASE WHEN $6 THEN $7 ELSE b.ended_by END,
  checked_at = CASE WHEN $8 = 'check' THEN clock_now() WHEN $8 = 'edit' THEN NULL ELSE b.checked_at END,
  began_at = CASE WHEN $8 = 'begin' THEN clock_now() ELSE b.began_at END,
  running_at = CASE WHEN $8 = 'canary_passed' THEN clock_now() ELSE b.running_at END,
  paced_to = NULL,
  canary_vouched_by = CASE WHEN $8 = 'resume' AND b.why = ANY ($9::text[]) THEN $7 ELSE b.canary_vouched_by END,
  canary_vouched_for = CASE WHEN $8 = 'resume' AND b.why = ANY ($9::text[]) THEN b.why ELSE b.canary_vouched_for END,
  canary_vouched_counts = CASE WHEN $8 = 'resume' AND b.why = ANY ($9::text[]) THEN b.why_counts ELSE b.canary_vouched_counts END,
  why_counts = $10::jsonb
WHERE b.batch_id = $1`;

/** Items that one statement lets go of: stopping must not wait for a hundred thousand. */
const leavePage = 5_000;

const leaveSql = `
UPDATE replay_item SET state = $2, closed_at = clock_now(), detail = $3
WHERE item_id IN (SELECT item_id FROM replay_item WHERE batch_id = $1 AND state = 'open' AND sent_at IS NULL LIMIT ${leavePage})
RETURNING item_id`;

/**
 * Of a batch that has ended: what has not been sent never is, and is free for others. A page of it; the runner does the rest. True when
 * there may be more.
 */
export async function leaveItems(tx: Sql, batchId: string, { state, why }: { state: BatchState; why?: string }): Promise<boolean> {
  if (state !== 'stopped' && state !== 'expired') return false;
  const outcome = state === 'stopped' ? 'stopped' : 'not_applied';
  return (await tx.sql('operator.leave_items', leaveSql, [batchId, outcome, why ?? null])).length === leavePage;
}

/** Takes a locked batch one step on and gives its new state. Throws the refusal that the step is. */
export async function changeState(tx: Tx, batch: BatchRow, { event, by, why, detail, counts }: Change): Promise<BatchState> {
  const step = next({ state: batch.state, pausedFrom: batch.paused_from ?? undefined }, event);
  if (!step.ok) throw batchRefusals.state(step.refusal, batch.state);
  const { state, pausedFrom } = step.standing;
  const about = [why ?? null, detail ?? null];
  const shown = counts === undefined ? null : JSON.stringify(counts);
  const values = [batch.batch_id, state, pausedFrom ?? null, ...about, hasEnded(state), by ?? null, event, wordsWanted, shown];
  await tx.sql('operator.change_batch', changeSql, values);
  await leaveItems(tx, batch.batch_id, { state, why });
  return state;
}

/** Items that one statement changes: it ends well within its time. */
const itemsPage = 5_000;

/**
 * Runs a statement over all items of a batch, a page of positions at a time: $1 is the batch, $2 and $3 the positions that the page begins
 * behind and ends with.
 */
export async function eachPage(
  tx: Sql,
  { name, text }: { name: string; text: string },
  { batchId, last }: { batchId: string; last: number },
): Promise<void> {
  for (let after = 0; after < last; after += itemsPage) await tx.sql(name, text, [batchId, after, after + itemsPage]);
}

const lastSql = 'SELECT coalesce(max(position), 0) AS last FROM replay_item WHERE batch_id = $1';

/** Position of the last item; 0 where there is none. */
export async function lastPosition(db: Sql, batchId: string): Promise<number> {
  return (await db.sql<{ last: number }>('operator.last_position', lastSql, [batchId]))[0]?.last ?? 0;
}
