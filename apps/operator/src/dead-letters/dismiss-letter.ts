import { z } from 'zod';
import { reasonText } from '#delivery';
import { audit } from '../audit/audit.js';
import { type Closed, closeJudged, countOutcomes, type DismissTools, judgeDismissals, type Left } from './judge-dismissal.js';

export const dismissRequest = z.strictObject({
  dead_letter_id: z.uuid(),
  by: z.string().trim().min(1).max(200),
  reason: reasonText.min(1),
});
export type DismissRequest = z.infer<typeof dismissRequest>;

export interface DismissAnswer {
  dismissed: boolean;
  outcome: Closed | Left | 'unknown_letter';
}

/**
 * Closes a letter because a person has dealt with it, where no delivery stands behind it that could: others close by what becomes of their
 * delivery. What it came to stands in the audit. Rejects with InternalUnavailable while its owner cannot be asked: nothing is closed on a guess.
 */
export async function dismissLetter(tools: DismissTools, request: DismissRequest, caller: string): Promise<DismissAnswer> {
  const { dead_letter_id, by, reason } = request;
  const judged = await judgeDismissals(tools, [dead_letter_id]);
  return tools.db.transaction(async (tx) => {
    const [one] = await closeJudged(tx, judged);
    const answer: DismissAnswer = {
      dismissed: one !== undefined && countOutcomes([one]).dismissed > 0,
      outcome: one?.outcome ?? 'unknown_letter',
    };
    const subject = { dead_letter_id, reason, ...answer, ...(one?.state !== undefined && { delivery_state: one.state }) };
    await audit(tx, { caller, person: by, action: 'dead_letter.dismiss', organization: one?.organization, subject });
    return answer;
  });
}
