import { z } from 'zod';
import type { InternalServer, KeyRing, Sql } from '#runtime';
import { rewrapPage, sealedTables } from './rewrap-page.js';

const places = { pending_revision: /^[0-9a-f-]{36} \S{1,64} \d{1,9}$/, vault: /^\S{1,64} \d{1,9}$/, rejected: /^[0-9a-f-]{36}$/ } as const;
const body = z
  .object({ table: z.enum(sealedTables), after: z.string().nullable() })
  .refine(({ table, after }) => after === null || places[table].test(after), 'after must be the `next` of an earlier answer');

/**
 * POST /internal/v1/vault:rewrap: one page of a change of keys, onto the key that this process has as its current one. No data key and no
 * personal data leaves it.
 */
export function serveRewrap(server: InternalServer, tools: { db: Sql; ring: KeyRing }): void {
  server.route('/internal/v1/vault:rewrap', { callers: ['leadctl'], body }, ({ table, after }) => rewrapPage(tools, table, after));
}
