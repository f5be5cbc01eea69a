import { createHash } from 'node:crypto';

/** A row of the audit in the texts in which the chain holds it. */
export interface ChainedRow {
  /** int8 as text. */
  audit_id: string;
  /** UTC, to the microsecond. */
  at: string;
  caller: string;
  person: string;
  action: string;
  organization: string | null;
  /** As PostgreSQL writes jsonb: one text for one value, whatever order its keys were given in. */
  subject: string;
}

/** Columns of `audit`, as `a`, in that form. Everything that a row says is in it. */
export const chainedColumns = `a.audit_id, to_char(a.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at, a.caller, a.person, a.action,
  a.organization, a.subject::text AS subject`;

/** What the first row is chained to. */
export const beforeFirst: Buffer = Buffer.alloc(32);

/** SHA-256 over the hash before and the row; a JSON array, so that no two rows have one text. */
export function chainHash(previous: Buffer, seq: number, row: ChainedRow): Buffer {
  const { audit_id, at, caller, person, action, organization, subject } = row;
  const text = JSON.stringify([1, previous.toString('hex'), seq, audit_id, at, caller, person, action, organization, subject]);
  return createHash('sha256').update(text).digest();
}
