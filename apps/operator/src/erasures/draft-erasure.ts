import { v7 } from 'uuid';
import { z } from 'zod';
import { reasonText } from '#delivery';
import type { Database, Logger } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import { refusals } from '../http/refusal.js';
import { organizationsValue, type Person } from '../people/person.js';
import { erasureHash, type LeadRow, writeList } from './erasure-row.js';
import type { ErasureServices, Remains, SubjectQuery } from './erasure-services.js';
import { countOwn, ownPlace } from './own-places.js';

const address = z.string().trim().min(1).max(320);

export const erasureRequest = z
  .strictObject({
    event_id: z
      .uuid()
      .transform((id) => id.toLowerCase())
      .optional()
      .describe('One lead alone.'),
    email: address.optional().describe('Everything of the person with this address; it is hashed at once and kept nowhere.'),
    phone: address.optional().describe('The same by phone number.'),
    reason: reasonText.min(1),
  })
  .refine(({ event_id, email, phone }) => [event_id, email, phone].filter((one) => one !== undefined).length === 1, {
    params: { problem: 'names none or several of event_id, email and phone', fix: 'Send exactly one of them' },
  });
export type ErasureRequest = z.infer<typeof erasureRequest>;

export interface ErasureTools {
  db: Database;
  services: ErasureServices;
  logger: Logger;
}

/** What is to be erased, as it is listed now. */
export interface Listed {
  leads: LeadRow[];
  keys: readonly { kind: string; organization: string; key: string }[];
  more: boolean;
  remains: Remains;
  hash: string;
}

/** Asks every service what it keeps. Rejects with InternalUnavailable while one of them does not answer: nothing is left out of a list. */
export async function listSubject(tools: ErasureTools, query: SubjectQuery, organizations: readonly string[] | null): Promise<Listed> {
  const { db, services } = tools;
  const { leads: found, keys, more } = await services.find(query, organizations);
  const leads = found.map(({ event_id, lead_ref, organization, person_key, whole_person }): LeadRow => {
    return { event_id, lead_ref, organization, person_key, whole_person };
  });
  const { counts, references, became } = await services.count(leads);
  const own = await countOwn(
    db,
    leads.map(({ event_id }) => event_id),
  );
  const remains = { counts: new Map([...counts, [ownPlace, own]]), references, became };
  return { leads, keys, more, remains, hash: erasureHash(leads, references) };
}

const insertSql = `
INSERT INTO erasure (erasure_id, state, kind, subject_keys, organizations, more, hash, author, reason, created_at, expires_at)
VALUES ($1, 'draft', $2, $3::jsonb, $4::text[], $5, $6, $7, $8, clock_now(), clock_now() + interval '24 hours')`;

/** Lists every place that holds something of a person. Nothing is erased by it. Throws the refusal 404 where nothing is found that the person may see. */
export async function draftErasure(tools: ErasureTools, request: ErasureRequest, person: Person): Promise<string> {
  const listed = await listSubject(tools, queryOf(request), organizationsValue(person));
  if (listed.leads.length === 0) throw refusals.notFound();
  const erasureId = v7();
  const organizations = [...new Set(listed.leads.map(({ organization }) => organization))];
  await tools.db.transaction(async (tx) => {
    const { kind } = queryOf(request);
    const values = [erasureId, kind, JSON.stringify(listed.keys), organizations, listed.more, listed.hash, person.subject, request.reason];
    await tx.sql('operator.insert_erasure', insertSql, values);
    await writeList(tx, erasureId, listed);
    const subject = { erasure_id: erasureId, kind, leads: listed.leads.length, hash: listed.hash, reason: request.reason };
    const organization = organizations.length === 1 ? organizations[0] : null;
    await audit(tx, { ...actor(person), action: 'erasure.draft', organization, subject });
  });
  tools.logger.info({ count: listed.leads.length, decision: 'drafted' }, 'Erasure drafted');
  return erasureId;
}

function queryOf({ event_id, email, phone }: ErasureRequest): Exclude<SubjectQuery, { kind: 'keys' }> {
  if (event_id !== undefined) return { kind: 'event_id', value: event_id };
  return email !== undefined ? { kind: 'email', value: email } : { kind: 'phone', value: phone ?? '' };
}
