import { z } from 'zod';
import type { Sql, Tx } from '#runtime';
import { refusals } from '../http/refusal.js';
import { mayRead, type Person } from '../people/person.js';
import { type PlannedStep, steps } from './plan-correction.js';

export const correctionStates = ['draft', 'approved', 'sent', 'done', 'failed', 'expired'] as const;
export type CorrectionState = (typeof correctionStates)[number];

export interface CorrectionRow {
  correction_id: string;
  state: CorrectionState;
  event_id: string;
  destination: string;
  organization: string;
  lead_ref: string;
  revision: number;
  fields: string[];
  generation: number;
  operations: PlannedStep[];
  hash: string;
  author: string;
  approver: string | null;
  reason: string;
  created_at: Date;
  expires_at: Date;
  approved_at: Date | null;
  item_id: string | null;
  not_after: Date | null;
  sent_at: Date | null;
  ended_at: Date | null;
  class: string | null;
  code: string | null;
  /** The draft is too old to be approved. */
  late: boolean;
  /** What was approved may not be applied any more. */
  overdue: boolean;
}

export const correctionColumns = `correction_id, state, event_id, destination, organization, lead_ref, revision, fields, generation, operations, hash,
  author, approver, reason, created_at, expires_at, approved_at, item_id, not_after, sent_at, ended_at, class, code,
  state = 'draft' AND expires_at < clock_now() AS late, coalesce(not_after < clock_now(), false) AS overdue`;
const readSql = `SELECT ${correctionColumns} FROM correction WHERE correction_id = $1`;

/** Throws the refusal 404 where there is none that the person may see. */
export async function readCorrection(db: Sql, correctionId: string, person: Person): Promise<CorrectionRow> {
  const [row] = await db.sql<CorrectionRow>('operator.read_correction', readSql, [correctionId]);
  return seenBy(row, person);
}

/** The same under a lock. */
export async function lockCorrection(tx: Tx, correctionId: string, person: Person): Promise<CorrectionRow> {
  const [row] = await tx.sql<CorrectionRow>('operator.lock_correction', `${readSql} FOR UPDATE`, [correctionId]);
  return seenBy(row, person);
}

function seenBy(row: CorrectionRow | undefined, person: Person): CorrectionRow {
  if (row === undefined || !mayRead(person, row.organization)) throw refusals.notFound();
  return row;
}

const time = z.string().nullable();

export const correctionReport = z.object({
  correction_id: z.uuid(),
  state: z.enum(correctionStates),
  event_id: z.uuid(),
  lead_ref: z.string(),
  destination: z.string(),
  organization: z.string(),
  revision: z.number().int().describe('Of the payload of the same lead.'),
  fields: z.array(z.string()).describe('Names of what changes, never the values.'),
  operations: z
    .array(z.object({ operation_key: z.string(), kind: z.string(), step: z.enum(steps), found: z.boolean(), ref: z.string().optional() }))
    .describe('change: the destination has it, it is changed there; keep: it has it, nothing changes; create: it does not have it.'),
  hash: z.string(),
  author: z.string(),
  approver: z.string().nullable(),
  reason: z.string(),
  created_at: z.string(),
  expires_at: z.string(),
  approved_at: time,
  sent_at: time,
  ended_at: time,
  class: z.string().nullable(),
  code: z.string().nullable(),
});
export type CorrectionReport = z.infer<typeof correctionReport>;

const iso = (at: Date | null): string | null => at?.toISOString() ?? null;

export function toReport(row: CorrectionRow): CorrectionReport {
  const { late, overdue: _, item_id: __, not_after: ___, ...rest } = row;
  return {
    ...rest,
    state: late ? 'expired' : row.state,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    approved_at: iso(row.approved_at),
    sent_at: iso(row.sent_at),
    ended_at: iso(row.ended_at),
  };
}
