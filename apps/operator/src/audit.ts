import type { Sql } from '#runtime';

export interface AuditEntry {
  /** Who called the API. */
  caller: string;
  /** Who decided, by their own word or by their key. */
  person: string;
  action: string;
  /** What it was about: names, ids and references, and the reason as it was typed. */
  subject: object;
}

const sql = 'INSERT INTO audit (at, caller, person, action, subject) VALUES (clock_now(), $1, $2, $3, $4::jsonb)';

/** Appends one entry; entries are never changed. */
export async function audit(db: Sql, { caller, person, action, subject }: AuditEntry): Promise<void> {
  await db.sql('operator.audit', sql, [caller, person, action, JSON.stringify(subject)]);
}
