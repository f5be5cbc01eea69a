import { z } from 'zod';
import type { InternalServer } from '#runtime';
import { activateRequest, activateRevision, withdrawRevision } from './activate-revision.js';
import { proposeRequest, proposeRevision, type ReviseTools } from './propose-revision.js';

/**
 * For corrections, POST:
 * - /internal/v1/vault:propose: seals corrected fields as the lead's next revision, which nobody reads yet
 * - /internal/v1/vault:activate: makes it the lead's own
 * - /internal/v1/vault:withdraw: forgets it
 */
export function serveCorrections(server: InternalServer, tools: ReviseTools): void {
  const callers = ['operator'];
  server.route('/internal/v1/vault:propose', { callers, body: proposeRequest }, (body) => proposeRevision(tools, body));
  server.route('/internal/v1/vault:activate', { callers, body: activateRequest }, (body) => activateRevision(tools.db, body));
  server.route('/internal/v1/vault:withdraw', { callers, body: z.object({ correction_id: z.uuid() }) }, async ({ correction_id }) => {
    await withdrawRevision(tools.db, correction_id);
    return {};
  });
}
