import { v7 } from 'uuid';
import { z } from 'zod';
import type { RevealedFields } from '#contracts';
import { reasonText } from '#delivery';
import { type Database, problem } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import { Refusal, refusals } from '../http/refusal.js';
import type { Person } from '../people/person.js';
import type { IntakeApi } from './intake-api.js';
import { visibleLead } from './visible-lead.js';

/** How long what was revealed may be shown. */
const revealForMs = 300_000;
/** Enough for a morning's work, too few to copy a list. */
export const revealsPerHour = 30;

export const revealRequest = z.strictObject({
  reason: reasonText.min(1),
});

export const revealAnswer = z.object({
  until: z.string().describe('ISO 8601: show it no longer than that.'),
  fields: z.object({
    name: z.string().nullable(),
    email: z.string().nullable(),
    phone: z.string().nullable(),
    message: z.string().nullable(),
    custom: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  }),
});

const tooMany = () =>
  new Refusal(
    problem(429, 'too-many-reveals', 'You have revealed as many leads as one person may in an hour', {
      detail: `At most ${revealsPerHour} an hour; wait, or ask somebody else on duty`,
    }),
  );
const gone = () => new Refusal(problem(410, 'gone', 'What the lead said is not kept any more'));
const unreadable = () => new Refusal(problem(409, 'unreadable', 'What the lead said cannot be opened: its key is missing'));

/** One person's requests at a time, so that two at once cannot both be the last that is allowed. */
const lockSql = `SELECT pg_advisory_xact_lock(hashtextextended('reveal ' || $1, 0))`;
const forgetSql = `DELETE FROM reveal_grant WHERE person = $1 AND granted_at < clock_now() - interval '1 day'`;
const grantSql = `
INSERT INTO reveal_grant (grant_id, event_id, person, granted_at, until)
SELECT $1, $2, $3, clock_now(), clock_now() + interval '${revealForMs} milliseconds'
WHERE (SELECT count(*) FROM reveal_grant WHERE person = $3 AND granted_at > clock_now() - interval '1 hour') < ${revealsPerHour}
RETURNING until`;

export interface RevealTools {
  db: Database;
  intake: IntakeApi;
}

/**
 * Shows a person a lead in the clear. It stands in the audit, with the reason, before intake is asked: what was seen is never unnoted, and at worst
 * something is noted that nobody saw. Rejects with a refusal (404, 410, 429) or InternalUnavailable.
 */
export async function reveal(
  { db, intake }: RevealTools,
  { eventId, reason }: { eventId: string; reason: string },
  person: Person,
): Promise<{ until: string; fields: RevealedFields }> {
  const { organization, leadRef } = await visibleLead({ db, intake }, eventId, person);
  if (leadRef === null) throw refusals.notFound();
  const until = await db.transaction(async (tx) => {
    await tx.sql('operator.reveal_lock', lockSql, [person.subject]);
    await tx.sql('operator.reveal_forget', forgetSql, [person.subject]);
    const grantId = v7();
    const [granted] = await tx.sql<{ until: Date }>('operator.reveal_grant', grantSql, [grantId, eventId, person.subject]);
    if (granted === undefined) return undefined;
    const subject = { event_id: eventId, lead_ref: leadRef, grant_id: grantId, until: granted.until.toISOString(), reason };
    await audit(tx, { ...actor(person), action: 'lead.reveal', organization, subject });
    return granted.until;
  });
  if (until === undefined) throw tooMany();
  const { status, fields } = await intake.reveal({ eventId, leadRef });
  if (status === 410) throw gone();
  if (fields === null) throw unreadable();
  return { until: until.toISOString(), fields };
}
