import type { LeadPayload, VaultReadItem } from '#contracts';
import { type KeyRing, type Sql, unseal } from '#runtime';
import { vaultAad } from './vault-aad.js';

interface VaultRow {
  lead_ref: string;
  revision: number;
  key_id: string;
  wrapped_key: Buffer;
  sealed: Buffer;
}

const sql = `
select distinct on (lead_ref) lead_ref, revision, key_id, wrapped_key, sealed
from vault where lead_ref = any($1::text[]) order by lead_ref, revision desc`;

/** The newest revision of each reference, in the order asked. 410: nothing is kept (any more). Throws DatabaseUnavailable, SealError. */
export async function readVault(tools: { db: Sql; ring: KeyRing }, leadRefs: readonly string[]): Promise<VaultReadItem[]> {
  const rows = await tools.db.sql<VaultRow>('vault.read', sql, [leadRefs]);
  const byRef = new Map(rows.map((row) => [row.lead_ref, row]));
  return leadRefs.map((leadRef) => {
    const row = byRef.get(leadRef);
    if (!row) return { lead_ref: leadRef, status: 410, revision: 0 };
    return { lead_ref: leadRef, status: 200, revision: row.revision, payload: open(tools.ring, row) };
  });
}

function open(ring: KeyRing, row: VaultRow): LeadPayload {
  const sealed = { keyId: row.key_id, wrappedKey: row.wrapped_key, sealed: row.sealed };
  return JSON.parse(unseal(ring, sealed, vaultAad(row.lead_ref, row.revision)).toString('utf8')) as LeadPayload;
}
