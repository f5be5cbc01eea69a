import { v7 } from 'uuid';
import { z } from 'zod';
import type { ProposeAnswer } from '#contracts';
import { type ReplayFacts, reasonText } from '#delivery';
import { StatementFailed } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import { type Refusal, refusals } from '../http/refusal.js';
import { visibleLead } from '../leads/visible-lead.js';
import type { Person } from '../people/person.js';
import { refuseWhileInBatch } from './open-work.js';
import { correctionHash, type PlannedStep, planCorrection } from './plan-correction.js';
import { type CorrectionTools, correctionRefusals, writer } from './tools.js';

const text = z.string().max(10_000);

export const correctionRequest = z.strictObject({
  event_id: z.uuid().transform((id) => id.toLowerCase()),
  destination: z.string().min(1).max(200),
  changes: z
    .strictObject({
      name: text.optional(),
      email: text.optional(),
      phone: text.optional(),
      message: text.optional(),
      custom: z.record(z.string(), z.union([text, z.number(), z.boolean(), z.null()])).optional(),
    })
    .refine((changes) => Object.values(changes).some((value) => value !== undefined), {
      params: { problem: 'names nothing that changes', fix: 'Send name, email, phone, message or custom' },
    })
    .describe('The fields as they should be; the values are sealed at once, and this service keeps only their names.'),
  reason: reasonText.min(1),
});
export type CorrectionRequest = z.infer<typeof correctionRequest>;

export interface Judged {
  facts: ReplayFacts;
  steps: PlannedStep[];
}

/**
 * What would be done at the destination, after it was asked what it has. Throws the refusal 404 where the delivery is not known, and one for each
 * obstacle; rejects with InternalUnavailable while its owner does not answer.
 */
export async function judge(
  { replays, vault, site }: Pick<CorrectionTools, 'replays' | 'vault' | 'site'>,
  name: { event_id: string; destination: string },
  fields: readonly string[],
): Promise<Judged> {
  const [facts] = await replays.facts([name]);
  if (facts === undefined) throw refusals.notFound();
  const payload = (await vault.payloads([facts.lead_ref])).get(facts.lead_ref);
  if (payload === 'gone') throw correctionRefusals.gone();
  if (payload === 'withdrawn' && site.destinations[name.destination]?.requiresConsent) throw correctionRefusals.consentWithdrawn();
  const [looked] = await replays.lookUp([name]);
  const plan = planCorrection(facts, looked, fields);
  if (!plan.ok) throw correctionRefusals.obstacle(plan.obstacle, plan.kind);
  return { facts, steps: plan.steps };
}

const insertSql = `
INSERT INTO correction (correction_id, state, event_id, destination, service, organization, lead_ref, revision, fields, generation, operations, hash, author,
  reason, created_at, expires_at)
VALUES ($1, 'draft', $2, $3, $4, $5, $6, $7, $8::text[], $9, $10::jsonb, $11, $12, $13, clock_now(), clock_now() + interval '24 hours')`;
/** Nobody may approve it any more: another may take its place. */
const expireSql = `
UPDATE correction SET state = 'expired', ended_at = clock_now()
WHERE event_id = $1 AND destination = $2 AND state = 'draft' AND expires_at < clock_now()`;
const uniqueViolation = '23505';

/** A lead that was corrected for another destination says so already; this one may still have what it said before. */
function acceptable(answer: ProposeAnswer, named: string[]): { revision: number; fields: string[] } {
  if (answer.result === 'proposed') return answer;
  if (answer.result === 'unchanged' && answer.revision > 1) return { revision: answer.revision, fields: named };
  throw notProposed(answer);
}

function notProposed(answer: Exclude<ProposeAnswer, { result: 'proposed' }>): Refusal {
  switch (answer.result) {
    case 'invalid':
      return refusals.invalid(answer.errors.map((error) => ({ ...error, field: `changes.${error.field}` })));
    case 'gone':
      return correctionRefusals.gone();
    case 'unchanged':
      return correctionRefusals.unchanged();
    default:
      return correctionRefusals.unknownSource();
  }
}

/**
 * Seals the corrected fields as the lead's next revision and says what would be done at the destination. Nothing is changed by it, here or there. Gives
 * the id of the draft; throws a refusal for each way in which it cannot be made.
 */
export async function draftCorrection(tools: CorrectionTools, request: CorrectionRequest, person: Person): Promise<string> {
  const { db, revisions, logger } = tools;
  const { event_id, destination, changes, reason: why } = request;
  const { organization, leadRef } = await visibleLead(tools, event_id, person);
  if (leadRef === null || !Object.hasOwn(tools.site.destinations, destination)) throw refusals.notFound();
  await refuseWhileInBatch(db, { event_id, destination });
  // Before anything is sealed: whether the destination can be corrected at all, by the fields that are named.
  await judge(tools, { event_id, destination }, Object.keys(changes));
  const correctionId = v7();
  const proposed = await revisions.propose({ correction_id: correctionId, lead_ref: leadRef, changes });
  const { revision, fields } = acceptable(proposed, Object.keys(changes));
  try {
    const { facts, steps } = await judge(tools, { event_id, destination }, fields);
    const { generation } = facts;
    const hash = correctionHash({ correction_id: correctionId, event_id, destination, revision, generation, fields }, steps);
    const values = [
      correctionId,
      event_id,
      destination,
      writer,
      organization,
      leadRef,
      revision,
      fields,
      generation,
      JSON.stringify(steps),
      hash,
    ];
    await db.transaction(async (tx) => {
      await tx.sql('operator.expire_correction', expireSql, [event_id, destination]);
      await tx.sql('operator.insert_correction', insertSql, [...values, person.subject, why]);
      const subject = { correction_id: correctionId, event_id, destination, fields, revision, hash, reason: why };
      await audit(tx, { ...actor(person), action: 'correction.draft', organization, subject });
    });
  } catch (error) {
    // Else it is forgotten by itself, a day later.
    await revisions.withdraw(correctionId).catch(() => undefined);
    throw error instanceof StatementFailed && error.code === uniqueViolation ? correctionRefusals.open() : error;
  }
  logger.info({ event_id, destination, decision: 'drafted' }, 'Correction drafted');
  return correctionId;
}
