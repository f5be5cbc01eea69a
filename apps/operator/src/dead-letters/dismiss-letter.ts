import { z } from 'zod';
import { type DeliveryStateItem, reasonText } from '#delivery';
import type { Database, Site, Sql } from '#runtime';
import { audit } from '../audit/audit.js';
import type { OwnerApi } from '../owners/owner-api.js';
import type { OwningService } from './letter.js';
import { missingFromSite } from './sources.js';

export const dismissRequest = z.strictObject({
  dead_letter_id: z.uuid(),
  by: z.string().trim().min(1).max(200),
  reason: reasonText.min(1),
});
export type DismissRequest = z.infer<typeof dismissRequest>;

export interface DismissTools {
  db: Database;
  owners: ReadonlyMap<string, OwnerApi>;
  site: Pick<Site, 'destinations' | 'channels'>;
}

/** As what a letter is closed: nothing stood behind it, its owner has no row of it any more, or nobody serves its destination any more. */
type Closed = 'dismissed' | 'row_gone' | 'destination_removed';
export interface DismissAnswer {
  dismissed: boolean;
  outcome: Closed | 'delivery_decides' | 'closed_before' | 'unknown_letter';
}

interface Row {
  state: string;
  service: OwningService;
  event_id: string | null;
  destination: string | null;
  organization: string | null;
  alone: boolean;
}

/** `alone`: a refused lead, a lead without a route, an unreadable record, a lead without an owner that was told nevertheless. */
const readSql = `
SELECT state, service, event_id, destination, organization,
  service = 'intake' OR event_id IS NULL OR destination IS NULL OR event IS NULL OR class = 'unknown_owner' AS alone
FROM dead_letter WHERE dead_letter_id = $1`;

const closeSql = `
UPDATE dead_letter SET state = 'closed', closed_as = $2, closed_at = clock_now() WHERE dead_letter_id = $1 AND state = 'open'
RETURNING dead_letter_id`;

/**
 * Closes a letter because a person has dealt with it, where no delivery stands behind it that could: others close by what becomes of their
 * delivery. What it came to stands in the audit. Rejects with InternalUnavailable while its owner cannot be asked: nothing is closed on a guess.
 */
export async function dismissLetter(tools: DismissTools, request: DismissRequest, caller: string): Promise<DismissAnswer> {
  const { dead_letter_id, by, reason } = request;
  const [letter] = await tools.db.sql<Row>('operator.letter_to_dismiss', readSql, [dead_letter_id]);
  const { outcome, state } = await judge(tools, letter);
  return tools.db.transaction(async (tx) => {
    const answer = await close(tx, dead_letter_id, outcome);
    const subject = { dead_letter_id, reason, ...answer, ...(state !== undefined && { delivery_state: state }) };
    await audit(tx, { caller, person: by, action: 'dead_letter.dismiss', organization: letter?.organization, subject });
    return answer;
  });
}

async function close(tx: Sql, id: string, outcome: DismissAnswer['outcome']): Promise<DismissAnswer> {
  if (!isClosed(outcome)) return { dismissed: false, outcome };
  // Somebody else may have closed it between the look and the write.
  const dismissed = (await tx.sql('operator.dismiss_letter', closeSql, [id, outcome])).length > 0;
  return { dismissed, outcome: dismissed ? outcome : 'closed_before' };
}

const isClosed = (outcome: DismissAnswer['outcome']): outcome is Closed =>
  outcome === 'dismissed' || outcome === 'row_gone' || outcome === 'destination_removed';

/** What may be done about the letter, and the state that its delivery has at its owner, where that was asked. */
async function judge(
  { owners, site }: DismissTools,
  letter: Row | undefined,
): Promise<{ outcome: DismissAnswer['outcome']; state?: DeliveryStateItem['state'] }> {
  if (letter === undefined) return { outcome: 'unknown_letter' };
  if (letter.state !== 'open') return { outcome: 'closed_before' };
  const { service, event_id, destination } = letter;
  const owner = owners.get(service);
  if (letter.alone || owner === undefined || event_id === null || destination === null) return { outcome: 'dismissed' };
  const [delivery] = await owner.states([{ event_id, destination }]);
  if (delivery === undefined) return { outcome: 'row_gone' };
  const { state } = delivery;
  // A destination that nobody serves takes no command and no approval, so nothing else can end these.
  const stuck = state === 'dead' || state === 'expired' || state === 'uncertain';
  const removed = stuck && missingFromSite(site, service, destination) !== undefined;
  return { outcome: removed ? 'destination_removed' : 'delivery_decides', state };
}
