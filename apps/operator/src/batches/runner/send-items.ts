import type { JWK } from 'jose';
import { headers, refusedRecord } from '#contracts';
import { type Permit, signPermit } from '#delivery';
import { insertOutbox, type OutboxRow } from '#messaging';
import type { Database } from '#runtime';
import type { OwningService } from '../../dead-letters/letter.js';
import { replayTopicOf } from '../../dead-letters/sources.js';
import { type ReadyTools, readyRepairs } from '../../reconciliation/ready-repairs.js';
import { type RepairPlan, repairOf } from '../../reconciliation/repair-plan.js';
import type { BatchRow } from '../batch-row.js';
import { lockLeased } from './lease.js';

interface UnsentItem {
  item_id: string;
  event_id: string;
  destination: string;
  service: OwningService;
  operation_keys: string[];
  /** Null: it is of a dead letter alone. */
  discrepancy_ids: string[] | null;
  /** Null: it is tried again. */
  repair: RepairPlan | null;
  traceparent: string | null;
  tracestate: string | null;
  origin_topic: string | null;
  origin_partition: number | null;
  origin_offset: string | null;
  record_key: Buffer | null;
  event: Buffer | null;
  /** A person closed the letter as dealt with, while it was being approved. */
  dismissed: boolean;
}

/** The canary is over before anything else is sent: neither of the two sorts what is left. */
const unsentSql = (condition: string): string => `
SELECT i.item_id, i.event_id, i.destination, i.service, i.operation_keys, i.discrepancy_ids, i.repair, d.traceparent, d.tracestate, d.origin_topic, d.origin_partition,
  d.origin_offset, d.record_key, d.event, d.closed_as IS NOT DISTINCT FROM 'dismissed' AS dismissed
FROM replay_item i LEFT JOIN dead_letter d USING (dead_letter_id)
WHERE i.batch_id = $1 AND i.state = 'open' AND i.sent_at IS NULL${condition} ORDER BY i.position LIMIT $2`;
const unsent = { name: 'operator.unsent_items', text: unsentSql('') };
const unsentCanary = { name: 'operator.unsent_canary', text: unsentSql(' AND i.canary') };

/** With what is sent the batch is as much further; $3 is how many seconds it was behind. */
const markSql = `
WITH marked AS (
  UPDATE replay_item SET sent_at = clock_now(), checked_at = clock_now()
  WHERE item_id = ANY ($1::uuid[]) AND batch_id = $2 AND state = 'open' AND sent_at IS NULL RETURNING item_id),
paced AS (
  UPDATE replay_batch SET paced_to = clock_now() + ((SELECT count(*) FROM marked) / rate_per_s::float8 - $3) * interval '1 second'
  WHERE batch_id = $2)
SELECT item_id FROM marked`;

/** A letter or record that is gone had its delivery end otherwise: there is nothing to try again from. */
const goneSql = `
UPDATE replay_item i SET state = 'ended', detail = v.why, closed_at = clock_now() FROM unnest($1::uuid[], $2::text[]) AS v(item_id, why)
WHERE i.item_id = v.item_id AND i.state = 'open' AND i.sent_at IS NULL`;

export interface SendOptions extends ReadyTools {
  db: Database;
  privateKey: JWK;
  relayWake: () => void;
  runner: string;
}

/** Rows of one transaction at most. */
const sendPage = 200;

export interface SentItems {
  sent: number;
  /** Left for another round: their destination cannot say now what it holds of them. */
  waiting: number;
}

export interface Due {
  /** Items that may go out. */
  most: number;
  /** How long ago that fell due which went out last. */
  owedMs: number;
}

/**
 * Sends the next items of a batch, `most` at most: that they are sent and their records in the outbox is one transaction, which holds only
 * where this runner has the batch and it may send. Undefined where it may not.
 */
export async function sendItems(options: SendOptions, batch: BatchRow, { most, owedMs }: Due): Promise<SentItems | undefined> {
  const { db, privateKey, relayWake, runner } = options;
  const { name, text } = batch.state === 'canary' ? unsentCanary : unsent;
  const unsentRows = await db.sql<UnsentItem>(name, text, [batch.batch_id, Math.min(most, sendPage)]);
  const { rows, refused, waiting } = await readyRepairs(options, unsentRows);
  const gone = [...refused, ...rows.filter(isGone).map((row) => ({ item_id: row.item_id, why: whyGone(row) }))];
  const records = await Promise.all(
    rows.filter((row) => !isGone(row)).map(async (row) => ({ item: row.item_id, outbox: await replayRecord(row, batch, privateKey) })),
  );
  const sent = await db.transaction(async (tx) => {
    const now = await lockLeased(tx, batch.batch_id, runner);
    if (now === undefined || now.state !== batch.state) return undefined;
    if (gone.length > 0) await tx.sql('operator.gone_items', goneSql, [gone.map(({ item_id }) => item_id), gone.map(({ why }) => why)]);
    const marking = [records.map(({ item }) => item), batch.batch_id, owedMs / 1_000];
    const marked = await tx.sql<{ item_id: string }>('operator.mark_items', markSql, marking);
    const ids = new Set(marked.map(({ item_id }) => item_id));
    await insertOutbox(
      tx,
      records.filter(({ item }) => ids.has(item)).map(({ outbox }) => outbox),
    );
    return ids.size;
  });
  if (sent) relayWake();
  return sent === undefined ? undefined : { sent, waiting };
}

/** A refused record lies sealed at intake; of anything else the letter has the bytes. */
const isGone = ({ event, destination, dismissed }: UnsentItem): boolean => dismissed || (event === null && destination !== refusedRecord);

function whyGone({ repair, dismissed }: UnsentItem): string {
  if (dismissed) return 'dismissed';
  return repair === null ? 'letter_gone' : 'record_gone';
}

/** Key and value as they first lay on the topic; of the headers what the engine and a reader of the topic need. */
async function replayRecord(row: UnsentItem, batch: BatchRow, privateKey: JWK): Promise<OutboxRow> {
  const deadlineAt = batch.deadline_at ?? batch.now;
  const permit: Permit = {
    batchId: batch.batch_id,
    itemId: row.item_id,
    eventId: row.event_id,
    destination: row.destination,
    operationKeys: row.operation_keys,
    // Whoever approved wants it done by then: a record that is met later is not worth its call.
    notAfter: batch.not_after ?? deadlineAt,
    deadlineAt,
    ...(row.repair !== null && { repair: repairOf(row.repair) }),
  };
  const optional: [string, string | number | null][] = [
    [headers.originTopic, row.origin_topic],
    [headers.originPartition, row.origin_partition],
    [headers.originOffset, row.origin_offset],
    [headers.traceparent, row.traceparent],
    [headers.tracestate, row.traceparent === null ? null : row.tracestate],
  ];
  return {
    topic: replayTopicOf(row.service, row.destination) ?? '',
    key: row.record_key,
    value: row.event,
    headers: {
      [headers.eventId]: row.event_id,
      [headers.destinations]: row.destination,
      [headers.deadlineAt]: String(deadlineAt.getTime()),
      ...Object.fromEntries(optional.filter(([, value]) => value !== null).map(([name, value]) => [name, String(value)])),
      [headers.replayPermit]: await signPermit(permit, privateKey),
    },
  };
}
