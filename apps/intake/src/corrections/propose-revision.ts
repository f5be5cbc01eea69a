import { z } from 'zod';
import type { LeadPayload, ProposeAnswer } from '#contracts';
import { type Database, type Hmacs, type KeyRing, type Site, seal } from '#runtime';
import { contactKeys, searchKey } from '../search/contact-keys.js';
import { normalise } from '../submission/normalise.js';
import type { RawSubmission } from '../submission/raw-submission.js';
import { readVault } from '../vault/read-vault.js';
import { vaultAad } from '../vault/vault-aad.js';

const text = z.string().max(10_000);

export const proposeRequest = z.object({
  correction_id: z.uuid(),
  lead_ref: z.string().min(1).max(64),
  changes: z
    .strictObject({
      name: text.optional(),
      email: text.optional(),
      phone: text.optional(),
      message: text.optional(),
      /** Fields that are named replace those of the lead; the others stay. */
      custom: z.record(z.string(), z.union([text, z.number(), z.boolean(), z.null()])).optional(),
    })
    .refine((changes) => Object.values(changes).some((value) => value !== undefined)),
});
export type ProposeRequest = z.infer<typeof proposeRequest>;

export interface ReviseTools {
  db: Database;
  ring: KeyRing;
  hmacs: Hmacs;
  site: Pick<Site, 'sources'>;
}

/** Of a draft that nobody approved. */
const pendingFor = '25 hours';

/** Beside the revision that it corrects, held until it is written: an erasure before leaves nothing to correct, one after finds it and destroys it. */
const insertSql = `
insert into pending_revision (correction_id, lead_ref, revision, key_id, wrapped_key, sealed, email_key, phone_key, delete_after)
select $1::uuid, lead_ref, $3::int, $4::text, $5::bytea, $6::bytea, $7::bigint, $8::bigint, clock_now() + interval '${pendingFor}'
from vault where lead_ref = $2 and revision = $3::int - 1 for share
returning revision`;

/**
 * Seals corrected fields of a lead as its next revision, which nobody reads before it is activated. They are checked and normalised like a submission of
 * the lead's source. What identifies the lead and the person at destinations stays. Throws DatabaseUnavailable.
 */
export async function proposeRevision(tools: ReviseTools, request: ProposeRequest): Promise<ProposeAnswer> {
  const { correction_id, lead_ref, changes } = request;
  const [item] = await readVault(tools, [lead_ref]);
  if (item?.status !== 200) return { result: 'gone' };
  const source = tools.site.sources.find(({ id }) => id === item.payload.source);
  if (source === undefined) return { result: 'unknown_source' };
  const normal = normalise(rawOf(item.payload, changes), source);
  if (!normal.ok) return { result: 'invalid', errors: normal.errors.map((error) => ({ ...error, field: fieldOf(error.field) })) };
  const { contact, message, custom } = normal.submission;
  const payload: LeadPayload = {
    ...item.payload,
    contact: definedOnly(contact),
    ...(message !== undefined && { message }),
    custom: { ...custom },
  };
  const fields = changedFields(item.payload, payload);
  if (fields.length === 0) return { result: 'unchanged', revision: item.revision };
  const revision = item.revision + 1;
  const { keyId, wrappedKey, sealed } = seal(tools.ring, Buffer.from(JSON.stringify(payload), 'utf8'), vaultAad(lead_ref, revision));
  const keys = contactKeys(tools.hmacs, source.organization, contact);
  const values = [correction_id, lead_ref, revision, keyId, wrappedKey, sealed, searchKey(keys.email), searchKey(keys.phone)];
  const written = await tools.db.sql('intake.propose_revision', insertSql, values);
  return written.length === 0 ? { result: 'gone' } : { result: 'proposed', revision, fields };
}

function rawOf(payload: LeadPayload, changes: ProposeRequest['changes']): RawSubmission {
  const { contact, consent } = payload;
  return {
    sourceEventId: payload.source_event_id,
    form: payload.form ?? null,
    campaign: payload.campaign ?? null,
    submittedAt: new Date(payload.submitted_at),
    contact: {
      name: changes.name ?? contact.name ?? null,
      email: changes.email ?? contact.email ?? null,
      phone: changes.phone ?? contact.phone ?? null,
    },
    message: changes.message ?? payload.message ?? null,
    consent: { given: consent.given, at: consent.at === undefined ? null : new Date(consent.at) },
    custom: { ...payload.custom, ...changes.custom },
    supersedes: null,
    test: false,
  };
}

/** As the request calls it. */
const fieldOf = (field: string): string => field.replace(/^contact\./, '');

function definedOnly(contact: LeadPayload['contact']): LeadPayload['contact'] {
  return Object.fromEntries(Object.entries(contact).filter(([, value]) => value !== undefined));
}

/** Names of what differs; of custom fields only that some do, since their names are the source's. */
function changedFields(before: LeadPayload, after: LeadPayload): string[] {
  const contact = (['name', 'email', 'phone'] as const).filter((name) => before.contact[name] !== after.contact[name]);
  const custom = JSON.stringify(Object.entries(before.custom).sort()) !== JSON.stringify(Object.entries(after.custom).sort());
  return [...contact, ...(before.message === after.message ? [] : ['message']), ...(custom ? ['custom'] : [])];
}
