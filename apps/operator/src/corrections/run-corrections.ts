import { headers } from '#contracts';
import { type Permit, type ReplayItemState, signPermit } from '#delivery';
import { insertOutbox, type OutboxRow } from '#messaging';
import type { Database } from '#runtime';
import { audit } from '../audit/audit.js';
import { replayTopicOf } from '../dead-letters/sources.js';
import { type CorrectionRow, correctionColumns } from './correction-row.js';
import { repairOf } from './plan-correction.js';
import { type CorrectionTools, writer } from './tools.js';

/** Each state apart: those that wait for their end are not to keep others from being sent. */
const openSql = `
(SELECT ${correctionColumns} FROM correction WHERE state = 'approved' ORDER BY approved_at LIMIT 100)
UNION ALL (SELECT ${correctionColumns} FROM correction WHERE state = 'sent' ORDER BY approved_at LIMIT 100)`;
const expireSql = `
UPDATE correction SET state = 'expired', ended_at = clock_now() WHERE state = 'draft' AND expires_at < clock_now()
RETURNING correction_id, event_id, destination, organization`;
const purgeSql = `
DELETE FROM correction WHERE correction_id IN (
  SELECT correction_id FROM correction WHERE state IN ('done', 'failed', 'expired') AND ended_at < clock_now() - interval '400 days' LIMIT 100)`;

/**
 * Takes every approved correction a step on: its revision becomes the lead's, its item is sent, its end is noted. Every step compares before it sets, so
 * that whoever goes on after a crash, or beside another, does nothing twice. One that fails does not keep the others from their turn.
 */
export async function runCorrections(tools: CorrectionTools): Promise<void> {
  const { db } = tools;
  await expireDrafts(db);
  await db.sql('operator.purge_corrections', purgeSql, []);
  const failures: unknown[] = [];
  for (const row of await db.sql<CorrectionRow>('operator.open_corrections', openSql, [])) {
    const step = row.state === 'approved' ? send : follow;
    await step(tools, row).catch((error: unknown) => void failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

async function expireDrafts(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    const late = await tx.sql<Pick<CorrectionRow, Named | 'organization'>>('operator.expire_corrections', expireSql, []);
    for (const { organization, ...named } of late) {
      const subject = { ...named, state: 'expired', code: 'not_approved' };
      await audit(tx, { caller: 'operator', person: 'operator', action: 'correction.end', organization, subject });
    }
  });
}

type Named = 'correction_id' | 'event_id' | 'destination';

const sentSql = `
UPDATE correction SET state = 'sent', sent_at = clock_now() WHERE correction_id = $1 AND state = 'approved' RETURNING correction_id`;

async function send(tools: CorrectionTools, row: CorrectionRow): Promise<void> {
  const { db, revisions, relayWake } = tools;
  if (row.overdue) return end(tools, row, { state: 'expired', code: 'not_sent' });
  const { result } = await revisions.activate(row);
  if (result !== 'active') return end(tools, row, { state: 'failed', code: result });
  const [history] = await tools.owner.histories([{ event_id: row.event_id, destination: row.destination }], true);
  if (history?.event === undefined) return end(tools, row, { state: 'failed', code: 'row_gone' });
  const record = await itemRecord(tools, row, history);
  const sent = await db.transaction(async (tx) => {
    const [mine] = await tx.sql('operator.correction_sent', sentSql, [row.correction_id]);
    if (mine !== undefined) await insertOutbox(tx, [record]);
    return mine !== undefined;
  });
  if (sent) relayWake();
}

/** Key and value as they first lay on the topic: the event is the same, only what the vault says of it is not. */
async function itemRecord(
  { privateKey }: CorrectionTools,
  row: CorrectionRow,
  { record_key, event, traceparent }: { record_key?: string; event?: string; traceparent?: string },
): Promise<OutboxRow> {
  const { event_id, destination } = row;
  const notAfter = row.not_after ?? new Date(0);
  const permit: Permit = {
    batchId: row.correction_id,
    itemId: row.item_id ?? '',
    eventId: event_id,
    destination,
    operationKeys: row.operations.map(({ operation_key }) => operation_key),
    notAfter,
    deadlineAt: notAfter,
    repair: repairOf(row.operations, row.generation),
  };
  return {
    topic: replayTopicOf(writer, destination) ?? '',
    key: record_key === undefined ? null : Buffer.from(record_key, 'base64'),
    value: Buffer.from(event ?? '', 'base64'),
    headers: {
      [headers.eventId]: event_id,
      [headers.destinations]: destination,
      [headers.deadlineAt]: String(notAfter.getTime()),
      ...(traceparent !== undefined && { [headers.traceparent]: traceparent }),
      [headers.replayPermit]: await signPermit(permit, privateKey),
    },
  };
}

async function follow(tools: CorrectionTools, row: CorrectionRow): Promise<void> {
  const name = { item_id: row.item_id ?? '', event_id: row.event_id, destination: row.destination };
  let [item] = await tools.replays.items([name]);
  // Nothing is said to be over before its owner was told so.
  if (item !== undefined && !item.applied && row.overdue) [item] = await tools.replays.close([name]);
  const ended = item && endOf(item, row.overdue);
  if (ended !== undefined) await end(tools, row, ended);
}

interface End {
  state: 'done' | 'failed' | 'expired';
  class?: string;
  code?: string;
}

/**
 * Undefined while it is under way. A delivery that had ended before stays as it was until the item is applied. `refused`: its owner closed it when it
 * came, since the delivery was not what had been approved.
 */
function endOf({ applied, closed, state, class: failure, code }: ReplayItemState, overdue: boolean): End | undefined {
  if (!applied && closed) return overdue ? { state: 'expired', code: 'not_applied' } : { state: 'failed', code: 'refused' };
  if (!applied) return undefined;
  if (state === 'delivered') return { state: 'done' };
  const over = state === 'dead' || state === 'expired' || state === 'discarded' || state === 'erased';
  return over ? { state: 'failed', class: failure, code: code ?? state } : undefined;
}

const endSql = `
UPDATE correction SET state = $2, class = $3, code = $4, ended_at = clock_now() WHERE correction_id = $1 AND state IN ('approved', 'sent')
RETURNING correction_id`;

async function end({ db, logger }: CorrectionTools, row: CorrectionRow, { state, class: failure, code }: End): Promise<void> {
  const { correction_id, event_id, destination, organization } = row;
  await db.transaction(async (tx) => {
    const [mine] = await tx.sql('operator.end_correction', endSql, [correction_id, state, failure ?? null, code ?? null]);
    if (mine === undefined) return;
    const subject = { correction_id, event_id, destination, state, ...(failure && { class: failure }), ...(code && { code }) };
    await audit(tx, { caller: 'operator', person: 'operator', action: 'correction.end', organization, subject });
    logger.info({ event_id, destination, state, error_code: code }, 'Correction ended');
  });
}
