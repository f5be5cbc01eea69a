import { z } from 'zod';
import type { Sql } from '#runtime';
import { organizationsValue, type Person } from '../people/person.js';

/** Fewer digits than the database counts to. */
const id = z.string().regex(/^[1-9][0-9]{0,17}$/);

export const auditQuery = z.strictObject({
  action: z.string().min(1).max(100).optional(),
  person: z.string().min(1).max(200).optional().describe('Subject of who decided.'),
  subject: z.string().min(1).max(512).optional().describe('An id or name that the entry is about, wherever it stands in it.'),
  after: id.optional().describe('`next` of the page before.'),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

const auditItem = z.object({
  audit_id: z.string(),
  seq: z.number().int().nullable().describe('Place in the chain; null until it is sealed.'),
  at: z.date(),
  caller: z.string(),
  person: z.string(),
  action: z.string(),
  organization: z.string().nullable(),
  subject: z.record(z.string(), z.unknown()),
});

export const auditPage = z.object({ items: z.array(auditItem), next: z.string().optional() });

interface Row extends Omit<z.infer<typeof auditItem>, 'seq'> {
  seq: string | null;
}

const conditions = {
  action: 'a.action =',
  person: 'a.person =',
  after: 'a.audit_id <',
  subject: 'a.subject @@',
} as const;

/**
 * Entries, the newest first. Somebody who may not see all organizations sees those of his organizations, and his own.
 */
export async function listAudit(db: Sql, query: z.infer<typeof auditQuery>, person: Person): Promise<z.infer<typeof auditPage>> {
  const { limit, subject, ...rest } = query;
  // A path that finds the text as a value at any depth; JSON's escapes are those of the path language.
  const given = { ...rest, subject: subject === undefined ? undefined : `$.** == ${JSON.stringify(subject)}` };
  const names = (['action', 'person', 'after', 'subject'] as const).filter((name) => given[name] !== undefined);
  const where = names.map((name, index) => `AND ${conditions[name]} $${index + 4}${name === 'subject' ? '::jsonpath' : ''}`);
  const text = `SELECT a.audit_id, s.seq, a.at, a.caller, a.person, a.action, a.organization, a.subject
FROM audit a LEFT JOIN audit_seal s USING (audit_id)
WHERE ($1::text[] IS NULL OR a.organization = ANY ($1::text[]) OR a.person = $2) ${where.join(' ')}
ORDER BY a.audit_id DESC LIMIT $3`;
  const values = [organizationsValue(person), person.subject, limit, ...names.map((name) => given[name])];
  const rows = await db.sql<Row>(`operator.list_audit.${names.join('.')}`, text, values);
  const items = rows.map((row) => ({ ...row, seq: row.seq === null ? null : Number(row.seq) }));
  return { items, ...(items.length === limit && { next: items.at(-1)?.audit_id }) };
}
