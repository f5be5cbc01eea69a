import { z } from 'zod';
import type { VaultReadItem } from '#contracts';
import { type InternalServer, type KeyRing, metrics, type Sql } from '#runtime';
import { readVault } from './read-vault.js';

const maxItems = 500;
const body = z.object({ items: z.array(z.object({ lead_ref: z.string().max(64) })).max(maxItems) });

/** The only way out for personal data: POST /internal/v1/vault:read, for the callers that deliver it. */
export function serveVault(server: InternalServer, tools: { db: Sql; ring: KeyRing }): void {
  server.route('/internal/v1/vault:read', { callers: ['crm-writer', 'notifier'], maxItems, body }, async ({ items }, { caller }) => {
    const read = await readVault(
      tools,
      items.map(({ lead_ref }) => lead_ref),
    );
    countReads(read, caller);
    return { items: read };
  });
}

function countReads(read: readonly VaultReadItem[], caller: string): void {
  const found = read.filter(({ status }) => status === 200).length;
  if (found > 0) metrics.vaultReads.inc({ caller, status: '200' }, found);
  if (found < read.length) metrics.vaultReads.inc({ caller, status: '410' }, read.length - found);
}
