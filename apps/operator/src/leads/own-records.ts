import type { HistoryItem } from '#delivery';
import type { Sql } from '#runtime';

/** What operator itself keeps about one lead. */
export interface OwnRecords {
  letters: LetterRecord[];
  replays: ReplayRecord[];
  audited: AuditRecord[];
}

export interface LetterRecord {
  dead_letter_id: string;
  state: string;
  closed_as: string | null;
  closed_at: Date | null;
  service: string;
  destination: string | null;
  organization: string | null;
  lead_ref: string | null;
  source: string | null;
  form: string | null;
  class: string;
  code: string | null;
  operation_key: string | null;
  submitted_at: Date | null;
  dead_at: Date;
  received_at: Date;
  owner: string;
  disposition: string;
  respond_by: Date;
  delete_after: Date;
  topic: string | null;
  partition: number | null;
  record_offset: string | null;
  history: HistoryItem['attempts'];
}

export interface ReplayRecord {
  batch_id: string;
  item_id: string;
  destination: string;
  service: string;
  state: string;
  closed_at: Date | null;
  batch_state: string;
  /** It repairs what differs at the destination. */
  repairs: boolean;
  author: string | null;
  approver: string | null;
  reason: string | null;
  approved_at: Date | null;
  deadline_at: Date | null;
}

export interface AuditRecord {
  at: Date;
  person: string;
  action: string;
  subject: Record<string, unknown>;
}

const lettersSql = `
SELECT dead_letter_id, state, closed_as, closed_at, service, destination, organization, lead_ref, source, form, class, code, operation_key, submitted_at,
  dead_at, received_at, owner, disposition, respond_by, delete_after, topic, partition, record_offset, history
FROM dead_letter WHERE event_id = $1 ORDER BY dead_letter_id LIMIT 200`;

const replaysSql = `
SELECT i.batch_id, i.item_id, i.destination, i.service, i.state, i.closed_at, b.state AS batch_state, i.discrepancy_ids IS NOT NULL AS repairs, b.author, b.approver, b.reason, b.approved_at,
  b.deadline_at
FROM replay_item i JOIN replay_batch b USING (batch_id) WHERE i.event_id = $1 ORDER BY b.created_at, i.item_id LIMIT 200`;

/** What people did about this lead, or about a batch that it was in. */
const auditSql = `
SELECT at, person, action, subject FROM audit WHERE subject @> ANY ($1::jsonb[]) ORDER BY audit_id LIMIT 500`;

/** Reads all of it; an event id that is unknown here has empty lists. Throws DatabaseUnavailable. */
export async function ownRecords(db: Sql, eventId: string): Promise<OwnRecords> {
  const [letters, replays] = await Promise.all([
    db.sql<LetterRecord>('operator.lead_letters', lettersSql, [eventId]),
    db.sql<ReplayRecord>('operator.lead_replays', replaysSql, [eventId]),
  ]);
  const about = [{ event_id: eventId }, ...new Set(replays.map(({ batch_id }) => batch_id))].map((one) =>
    JSON.stringify(typeof one === 'string' ? { batch_id: one } : one),
  );
  return { letters, replays, audited: await db.sql<AuditRecord>('operator.lead_audit', auditSql, [about]) };
}
