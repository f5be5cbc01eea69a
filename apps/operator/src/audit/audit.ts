import type { Sql } from '#runtime';
import type { Person } from '../people/person.js';

export interface AuditEntry {
  /** Who called: `api` for a person's own request, else the service that passed on a person's word (`leadctl`). */
  caller: string;
  /** Who decided: the subject of the token, or for another caller the name it gave. */
  person: string;
  /** What kind of thing was done, `noun.verb`. */
  action: string;
  /** Whose leads it was about; absent: of none or of several. Only people of that organization see the entry. */
  organization?: string | null;
  /** What it was about: names, ids, references, and the reason as it was typed. Never personal data. */
  subject: object;
}

const sql = `
INSERT INTO audit (at, caller, person, action, subject, organization) VALUES (clock_now(), $1, $2, $3, $4::jsonb, $5)`;

/** Appends one entry, in the transaction of the action it tells of. Entries are never changed; the sealer chains them within seconds. */
export async function audit(tx: Sql, { caller, person, action, subject, organization = null }: AuditEntry): Promise<void> {
  await tx.sql('operator.audit', sql, [caller, person, action, JSON.stringify(subject), organization]);
}

/** Caller and person of an entry about what a person asked for, through whichever door. */
export function actor({ subject, caller = 'api' }: Pick<Person, 'subject' | 'caller'>): Pick<AuditEntry, 'caller' | 'person'> {
  return { caller, person: subject };
}
