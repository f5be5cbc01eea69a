import { z } from 'zod';
import { type CommandAnswer, type CommandRequest, commandReason, deliveryName, finding, operationName } from '#delivery';
import type { Database, Logger } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import { type Refusal, refusals } from '../http/refusal.js';
import { notFound, type OwnerApi } from '../owners/owner-api.js';
import type { Person } from '../people/person.js';
import type { IntakeApi } from './intake-api.js';
import { visibleLead } from './visible-lead.js';

const service = z.enum(['crm-writer', 'notifier']).default('crm-writer');
const destination = deliveryName;
const operation_key = operationName;
const reason = commandReason;

export const lookupAction = z.strictObject({ service, destination, operation_key });
export const evidenceAction = z.strictObject({
  service,
  destination,
  operation_key,
  finding: finding.describe('What you found when you looked at the destination.'),
  reason,
});
export const discardAction = z.strictObject({
  service,
  destination,
  reason,
  evidence: reason.optional().describe('Where the proof is kept; needed where it may have arrived.'),
});

export const actionAnswer = z.object({ applied: z.literal(true), state: z.string().optional().describe('Of the delivery afterwards.') });

export interface ActionTools {
  db: Database;
  intake: IntakeApi;
  owners: ReadonlyMap<string, OwnerApi>;
  logger: Logger;
}

/** What is done about one delivery of a lead. */
export interface DeliveryAction {
  eventId: string;
  service: 'crm-writer' | 'notifier';
  command: Extract<CommandRequest, { event_id: string }>;
}

const whyNot: Readonly<Record<NonNullable<CommandAnswer['reason']>, string>> = {
  unknown_destination: 'The destination is not configured any more.',
  unknown_delivery: 'Its owner knows no such delivery; it may not have taken it up yet.',
  not_in_this_state: 'It does not fit the state that the delivery is in now.',
  no_lookup: 'This destination cannot be asked what it has; look there yourself and record what you find.',
  changed_meanwhile: 'Somebody has changed it since you looked.',
  too_early: 'The call may still take effect there: that nothing is seen says nothing yet.',
};

/**
 * Does one thing about one delivery, in the name of the person. It stands in the audit before it is sent, and what came of it afterwards: a command
 * without an answer may have been carried out. Rejects with a refusal (404, 409) or InternalUnavailable.
 */
export async function actOnDelivery(
  tools: ActionTools,
  action: DeliveryAction,
  person: Person,
): Promise<{ applied: true; state?: string }> {
  const { db, owners, logger } = tools;
  const { eventId, service: name, command } = action;
  const { organization } = await visibleLead(tools, eventId, person);
  const entry = { ...actor(person), organization, action: `delivery.${command.command}` };
  const { by: _, ...about } = command;
  await audit(db, { ...entry, subject: { service: name, ...about } });
  const answer = await (owners.get(name) ?? notFound(name)).command(command);
  const subject = { service: name, event_id: eventId, destination: command.destination, ...answer };
  await audit(db, { ...entry, action: `${entry.action}.answer`, subject });
  logger.info(
    { event_id: eventId, destination: command.destination, decision: command.command, state: answer.state },
    'Action on a delivery',
  );
  if (answer.applied) return { applied: true, state: answer.state };
  throw refusalOf(answer);
}

function refusalOf({ reason: word = 'not_in_this_state', state, absence_counts_from, wait_ms = 0 }: CommandAnswer): Refusal {
  if (word === 'unknown_delivery') return refusals.notFound();
  const more = { ...(state !== undefined && { state }), ...(absence_counts_from !== undefined && { absence_counts_from }) };
  const until = absence_counts_from && ` Look again after ${absence_counts_from}, in ${Math.ceil(wait_ms / 1_000)} s, and record it then.`;
  return refusals.conflict(word.replaceAll('_', '-'), `${whyNot[word]}${until ?? ''}`, more);
}
