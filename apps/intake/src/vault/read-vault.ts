import type { LeadPayload, VaultReadItem } from '#contracts';
import { type KeyRing, type Sql, unseal } from '#runtime';
import { vaultAad } from './vault-aad.js';

interface VaultRow {
  lead_ref: string;
  revision: number;
  key_id: string;
  wrapped_key: Buffer;
  sealed: Buffer;
  consent_withdrawn: boolean;
}

/** Consent is withdrawn with any revision: a correction that is made at the same moment may not have copied it. */
const sql = `
select distinct on (lead_ref) lead_ref, revision, key_id, wrapped_key, sealed,
  bool_or(consent_withdrawn_at is not null) over (partition by lead_ref) as consent_withdrawn
from vault where lead_ref = any($1::text[]) and sealed <> '' order by lead_ref, revision desc`;

/**
 * The newest revision of each reference, in the order asked. 410: nothing is kept (any more). 500: this one cannot be opened, which says nothing
 * about its neighbours. Throws DatabaseUnavailable.
 */
export async function readVault(tools: { db: Sql; ring: KeyRing }, leadRefs: readonly string[]): Promise<VaultReadItem[]> {
  const rows = await tools.db.sql<VaultRow>('vault.read', sql, [leadRefs]);
  const byRef = new Map(rows.map((row) => [row.lead_ref, row]));
  return leadRefs.map((lead_ref) => {
    const row = byRef.get(lead_ref);
    if (!row) return { lead_ref, status: 410, revision: 0 };
    const { revision } = row;
    const payload = open(tools.ring, row);
    if (!payload) return { lead_ref, status: 500, revision, code: 'unreadable' };
    return { lead_ref, status: 200, revision, payload, ...(row.consent_withdrawn && { consent_withdrawn: true }) };
  });
}

/** Undefined where the key is missing or the bytes are not what was sealed; why exactly would say too much about either. */
function open(ring: KeyRing, row: VaultRow): LeadPayload | undefined {
  try {
    const sealed = { keyId: row.key_id, wrappedKey: row.wrapped_key, sealed: row.sealed };
    return JSON.parse(unseal(ring, sealed, vaultAad(row.lead_ref, row.revision)).toString('utf8')) as LeadPayload;
  } catch {
    return undefined;
  }
}
