import { z } from 'zod';
import type { InternalServer, Sql } from '#runtime';

const body = z.object({ items: z.array(z.object({ lead_ref: z.string().max(64) })).max(500) });

/** `withdrawn`: consent was, with any revision. `gone`: nothing of the lead is kept any more. */
export interface VaultState {
  lead_ref: string;
  state: 'kept' | 'withdrawn' | 'gone';
}

const sql = `
SELECT i.lead_ref, CASE WHEN v.withdrawn IS NULL THEN 'gone' WHEN v.withdrawn THEN 'withdrawn' ELSE 'kept' END AS state
FROM unnest($1::text[]) WITH ORDINALITY AS i(lead_ref, position)
  CROSS JOIN LATERAL (SELECT bool_or(consent_withdrawn_at IS NOT NULL) AS withdrawn FROM vault WHERE lead_ref = i.lead_ref AND sealed <> '') v
ORDER BY i.position`;

/** POST /internal/v1/vault:state: what is kept of leads, without opening any of it. */
export function serveVaultStates(server: InternalServer, { db }: { db: Sql }): void {
  server.route('/internal/v1/vault:state', { callers: ['operator'], body }, async ({ items }) => ({
    items: await db.sql<VaultState>('vault.states', sql, [items.map(({ lead_ref }) => lead_ref)]),
  }));
}
