import { z } from 'zod';
import type { VaultReadItem } from '#contracts';
import { type InternalServer, type KeyRing, type Logger, metrics, type Sql } from '#runtime';
import { readVault } from './read-vault.js';

const maxItems = 500;
const body = z.object({ items: z.array(z.object({ lead_ref: z.string().max(64) })).max(maxItems) });

/**
 * POST /internal/v1/vault:read: personal data as it was handed in, for the callers that deliver it or compare what was delivered. The only other way
 * out is one lead at a time, to a person with a reason: reveal-routes.ts.
 */
export function serveVault(server: InternalServer, tools: { db: Sql; ring: KeyRing; logger: Logger }): void {
  const callers = ['crm-writer', 'notifier', 'reconciler'];
  server.route('/internal/v1/vault:read', { callers, maxItems, body }, async ({ items }, { caller }) => {
    const read = await readVault(
      tools,
      items.map(({ lead_ref }) => lead_ref),
    );
    countReads(read, caller);
    for (const { lead_ref, status } of read) if (status === 500) tools.logger.error({ lead_ref }, 'A lead in the vault cannot be opened');
    return { items: read };
  });
}

function countReads(read: readonly VaultReadItem[], caller: string): void {
  for (const status of [200, 410, 500] as const) {
    const count = read.filter((item) => item.status === status).length;
    if (count > 0) metrics.vaultReads.inc({ caller, status: String(status) }, count);
  }
}
