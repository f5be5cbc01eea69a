import { z } from 'zod';
import type { LeadPayload, MaskAnswer, RevealAnswer, RevealedFields } from '#contracts';
import { type InternalServer, type KeyRing, type Logger, metrics, type Sql } from '#runtime';
import { maskContact } from './mask.js';
import { readVault } from './read-vault.js';

const leadRef = z.string().min(1).max(64);

/**
 * For operator, POST, one lead a time:
 * - /internal/v1/vault:mask: the contact as anybody who lists leads may see it. It is opened and masked here, so that clear text leaves only on purpose
 * - /internal/v1/vault:reveal: the clear text. Operator has noted who sees it, and why, before it asks
 */
export function serveReveal(server: InternalServer, tools: { db: Sql; ring: KeyRing; logger: Logger }): void {
  const read = async (ref: string, caller: string) => {
    const [item] = await readVault(tools, [ref]);
    if (item === undefined) throw new Error('The vault gave no answer for a reference');
    metrics.vaultReads.inc({ caller, status: String(item.status) });
    return item;
  };
  const callers = ['operator'];
  server.route('/internal/v1/vault:mask', { callers, body: z.object({ lead_ref: leadRef }) }, async ({ lead_ref }, { caller }) => {
    const item = await read(lead_ref, caller);
    const masked = item.status === 200 ? maskContact(item.payload.contact) : null;
    return { status: item.status, revision: item.revision, masked } satisfies MaskAnswer;
  });
  const revealed = z.object({ lead_ref: leadRef, event_id: z.uuid() });
  server.route('/internal/v1/vault:reveal', { callers, body: revealed }, async ({ lead_ref, event_id }, { caller }) => {
    const item = await read(lead_ref, caller);
    tools.logger.info({ unit: 'reveal', event_id, lead_ref, caller, status: item.status }, 'Clear text of a lead handed out');
    return {
      status: item.status,
      revision: item.revision,
      fields: item.status === 200 ? fieldsOf(item.payload) : null,
    } satisfies RevealAnswer;
  });
}

function fieldsOf({ contact, message, custom }: LeadPayload): RevealedFields {
  const { name = null, email = null, phone = null } = contact;
  return { name, email, phone, message: message ?? null, custom };
}
