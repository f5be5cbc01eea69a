import type { Hmacs, KeyRing, Sql } from '#runtime';
import type { PreparedLead } from './prepare-lead.js';
import type { StoredKey } from './store/find-keys.js';
import { canonical } from './submission/canonical.js';
import { readVault } from './vault/read-vault.js';

/**
 * Whether a repeat says what was accepted first. Fingerprints of one version are compared; an older version's is recomputed from the vault, so
 * that a new rule never turns an honest repeat into a conflict. Where the vault holds nothing any more, the key alone decides: same.
 */
export async function sameContent(
  tools: { db: Sql; hmacs: Hmacs; ring: KeyRing },
  candidate: PreparedLead,
  stored: StoredKey,
): Promise<boolean> {
  const { row } = candidate;
  if (versionOf(stored.fingerprint) === versionOf(row.fingerprint)) return stored.fingerprint === row.fingerprint;
  const [first] = await readVault(tools, [stored.leadRef]);
  if (first?.status !== 200) return true;
  return tools.hmacs.fingerprint(row.organization, canonical(row.organization, first.payload)) === row.fingerprint;
}

/** `v1` of `v1:<hex>`. */
function versionOf(fingerprint: string): string {
  return fingerprint.slice(0, fingerprint.indexOf(':'));
}
