import { InternalRefused, InternalUnavailable, type Sql } from '#runtime';
import { refusals } from '../http/refusal.js';
import { mayRead, type Person } from '../people/person.js';
import type { IntakeApi } from './intake-api.js';

export interface VisibleLead {
  organization: string;
  /** Null: nothing was accepted, or it is not known now. */
  leadRef: string | null;
}

const letterSql = `
SELECT organization, lead_ref AS "leadRef" FROM dead_letter WHERE event_id = $1 AND organization IS NOT NULL ORDER BY dead_letter_id LIMIT 1`;

/**
 * Whose lead it is, for a person who may see it. Rejects with the refusal 404 where there is none or it is not theirs to see, and with
 * InternalUnavailable while that cannot be found out: nothing is done about a lead of somebody unknown.
 */
export async function visibleLead(tools: { db: Sql; intake: IntakeApi }, eventId: string, person: Person): Promise<VisibleLead> {
  const lead = await leadOf(tools, eventId);
  if (lead === undefined || !mayRead(person, lead.organization)) throw refusals.notFound();
  return lead;
}

async function leadOf({ db, intake }: { db: Sql; intake: IntakeApi }, eventId: string): Promise<VisibleLead | undefined> {
  const [letter] = await db.sql<VisibleLead>('operator.lead_of', letterSql, [eventId]);
  try {
    const [found] = await intake.byIds([eventId]);
    return found === undefined ? letter : { organization: found.organization, leadRef: found.lead_ref };
  } catch (error) {
    const away = error instanceof InternalUnavailable || error instanceof InternalRefused;
    if (!away || letter === undefined) throw error;
    return letter;
  }
}
