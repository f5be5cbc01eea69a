import { randomUUID } from 'node:crypto';
import type { JWK } from 'jose';
import { z } from 'zod';
import { headers, longestDeadlineMs, unrouted } from '#contracts';
import { type DeliveryStateItem, type Permit, reasonText, signPermit } from '#delivery';
import { insertOutbox, type OutboxRow } from '#messaging';
import { type Database, duration, type Logger, metrics, type Site } from '#runtime';
import { audit } from '../audit/audit.js';
import { missingFromSite, replayTopicOf } from '../dead-letters/sources.js';
import { groupBy } from '../group-by.js';
import type { OwnerApi } from '../owners/owner-api.js';
import { type CandidateRow, findCandidates } from './candidates.js';
import { type Candidate, type ItemVerdict, judgeCandidate } from './judge-candidate.js';
import { insertBatch, insertItems, type NewItem } from './store-batch.js';

/** Where one person works alone, a batch is small enough to be looked through. */
const largestBatch = 50;

const selection = z
  .strictObject({
    destination: z.string().min(1).max(512).optional(),
    class: z.string().min(1).max(64).optional(),
    event_ids: z.array(z.uuid()).min(1).max(largestBatch).optional(),
  })
  .refine((select) => Object.values(select).some((value) => value !== undefined), {
    params: { problem: 'selects everything', fix: 'Name a destination, a class or event ids' },
  });

export const approveRequest = z.strictObject({
  approver: z.string().trim().min(1).max(100),
  reason: reasonText.optional(),
  /** From now on; the old deadline is kept beside it. */
  new_deadline: duration.refine((ms) => ms >= 1_000 && ms <= longestDeadlineMs, {
    params: { problem: 'is no useful deadline', fix: `Write 1s to ${longestDeadlineMs / 3_600_000}h` },
  }),
  select: selection,
  max: z.number().int().min(1).max(largestBatch).default(largestBatch),
});
export type ApproveRequest = z.infer<typeof approveRequest>;

export interface ApprovedItem {
  event_id: string;
  destination: string;
  verdict: ItemVerdict;
  /** Of `not_replayable`: what is in the way. */
  reason?: string;
  item_id?: string;
}

export interface Approval {
  /** Absent when nothing could be approved: then there is no batch. */
  batch_id?: string;
  approved: number;
  not_after?: string;
  deadline_at?: string;
  items: ApprovedItem[];
}

export interface ApproveTools {
  db: Database;
  owners: ReadonlyMap<string, OwnerApi>;
  site: Pick<Site, 'policies' | 'destinations' | 'channels'>;
  privateKey: JWK;
  relayWake: () => void;
  logger: Logger;
}

interface Judged {
  row: CandidateRow;
  delivery?: DeliveryStateItem;
  verdict: ItemVerdict;
  reason?: string;
}

/**
 * Approves up to `max` dead letters of a selection as one batch: each is judged by what its delivery is at its owner now, gets a signed
 * permit, and its record goes out on the replay topic, all in one transaction. Asked twice, the second finds open items and approves none.
 * Rejects with InternalUnavailable while an owner cannot be asked: nothing is approved on a guess.
 */
export async function approveItems(tools: ApproveTools, request: ApproveRequest, caller: string): Promise<Approval> {
  const { db, logger } = tools;
  const [clock] = await db.sql<{ now: Date }>('operator.now', 'SELECT clock_now() AS now', []);
  const now = clock?.now ?? new Date();
  const judged = await judgeAll(tools, await findCandidates(db, request.select, request.max), now);
  const deadlineAt = new Date(now.getTime() + request.new_deadline);
  // Whoever approved wants it done by then: a record that is met later is not worth its call.
  const batch = { batchId: randomUUID(), deadlineAt, notAfter: deadlineAt };
  const items = await Promise.all(
    judged.filter(({ verdict }) => verdict === 'approved').map((one) => newItem(one, batch, tools.privateKey)),
  );
  const stored = items.length === 0 ? new Set<string>() : await store(tools, { request, caller, batch, items });
  metrics.replayItems.inc({ outcome: 'approved' }, stored.size);
  logger.info({ batch_id: batch.batchId, caller, count: stored.size, rows: judged.length }, 'Replay approved');
  return {
    ...(stored.size > 0 && { batch_id: batch.batchId, not_after: batch.notAfter.toISOString(), deadline_at: deadlineAt.toISOString() }),
    approved: stored.size,
    items: judged.map((one) =>
      answerOf(
        one,
        items.find(({ deadLetterId }) => deadLetterId === one.row.dead_letter_id),
        stored,
      ),
    ),
  };
}

function answerOf({ row, verdict, reason }: Judged, item: NewItem | undefined, stored: ReadonlySet<string>): ApprovedItem {
  const { event_id, destination } = row;
  if (item === undefined) return { event_id, destination, verdict, ...(reason !== undefined && { reason }) };
  // Somebody else's approval came between the look and the write.
  return stored.has(item.itemId)
    ? { event_id, destination, verdict, item_id: item.itemId }
    : { event_id, destination, verdict: 'already_approved' };
}

async function judgeAll({ owners, site }: ApproveTools, rows: readonly CandidateRow[], now: Date): Promise<Judged[]> {
  const judged: Judged[] = [];
  for (const [service, own] of groupBy(rows, (row) => row.service)) {
    const deliveries = await owners.get(service)?.states(own.map(({ event_id, destination }) => ({ event_id, destination })));
    for (const [index, row] of own.entries()) {
      const delivery = deliveries?.[index];
      const reason = whyNotReplayable(row, site);
      const verdict = judgeCandidate({ ...candidateOf(row, site), replayable: reason === undefined }, delivery, now);
      judged.push({ row, delivery, verdict, reason });
    }
  }
  return judged;
}

/** A record on a topic that nobody reads would look like an approval and be none. */
function whyNotReplayable({ service, destination }: CandidateRow, site: ApproveTools['site']): string | undefined {
  if (destination === unrouted) return 'the lead has no route';
  const missing = missingFromSite(site, service, destination);
  if (missing !== undefined) return `${missing} is not in the site file any more`;
  return replayTopicOf(service, destination) === undefined ? `${service} takes no approved items` : undefined;
}

function candidateOf(row: CandidateRow, { policies }: Pick<Site, 'policies'>): Omit<Candidate, 'replayable'> {
  const policy = (row.policy === null ? undefined : policies[row.policy]) ?? policies.default;
  return {
    submittedAt: row.submitted_at ?? undefined,
    deadlineAt: row.deadline_at ?? undefined,
    hasRecord: row.event !== null,
    hasOpenItem: row.has_open_item,
    maxAgeMs: policy.maxAgeMs,
  };
}

interface Batch {
  batchId: string;
  deadlineAt: Date;
  notAfter: Date;
}

async function newItem({ row, delivery }: Judged, batch: Batch, privateKey: JWK): Promise<NewItem & { outbox: OutboxRow }> {
  const permit: Permit = {
    ...batch,
    itemId: randomUUID(),
    eventId: row.event_id,
    destination: row.destination,
    operationKeys: delivery?.operations.map(({ operation_key }) => operation_key) ?? [],
  };
  return {
    itemId: permit.itemId,
    deadLetterId: row.dead_letter_id,
    eventId: row.event_id,
    destination: row.destination,
    service: row.service,
    originalDeadlineAt: row.deadline_at ?? undefined,
    outbox: replayRecord(row, permit, await signPermit(permit, privateKey)),
  };
}

/** Key and value as they first lay on the topic; of the headers what the engine and a reader of the topic need. */
function replayRecord(row: CandidateRow, permit: Permit, token: string): OutboxRow {
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
      [headers.deadlineAt]: String(permit.deadlineAt.getTime()),
      ...Object.fromEntries(optional.filter(([, value]) => value !== null).map(([name, value]) => [name, String(value)])),
      [headers.replayPermit]: token,
    },
  };
}

interface ToStore {
  request: ApproveRequest;
  caller: string;
  batch: Batch;
  items: readonly (NewItem & { outbox: OutboxRow })[];
}

/** Batch, items and records, all or none. Gives the ids of the items that stand. */
async function store({ db, relayWake }: ApproveTools, { request, caller, batch, items }: ToStore): Promise<ReadonlySet<string>> {
  const stored = await db.transaction(async (tx) => {
    const standing = new Set(await insertItems(tx, batch.batchId, items));
    if (standing.size === 0) return standing;
    const { approver, reason, select, max } = request;
    await insertBatch(tx, { ...batch, approver, approvedBy: caller, reason, selection: select, maximum: max });
    const records = items.filter(({ itemId }) => standing.has(itemId)).map(({ outbox }) => outbox);
    await insertOutbox(tx, records);
    const subject = { batch_id: batch.batchId, select, max, reason, items: [...standing] };
    await audit(tx, { caller, person: approver, action: 'batch.approve', subject });
    return standing;
  });
  relayWake();
  return stored;
}
