import { z } from 'zod';
import { type CommandAnswer, commandRequest } from '#delivery';
import type { Sql } from '#runtime';
import { type AuditEntry, audit } from './audit/audit.js';
import { notFound, type OwnerApi } from './owners/owner-api.js';

export const sendRequest = z.strictObject({ service: z.enum(['crm-writer', 'notifier']).default('crm-writer'), command: commandRequest });

export interface CommandTools {
  db: Sql;
  owners: ReadonlyMap<string, OwnerApi>;
}

/**
 * Sends a person's command to the service that owns the delivery or destination. It stands in the audit before it is sent, and what came of it
 * afterwards: a command without an answer there may have been carried out. Rejects with InternalUnavailable while the owner does not answer.
 */
export async function sendCommand(
  { db, owners }: CommandTools,
  { service, command }: z.infer<typeof sendRequest>,
  from: Pick<AuditEntry, 'caller' | 'organization'>,
): Promise<CommandAnswer> {
  const owner = owners.get(service) ?? notFound(service);
  const entry = { ...from, person: command.by, action: `delivery.${command.command}` };
  await audit(db, { ...entry, subject: { service, ...command } });
  const answer = await owner.command(command);
  await audit(db, { ...entry, action: `${entry.action}.answer`, subject: { service, destination: command.destination, ...answer } });
  return answer;
}
