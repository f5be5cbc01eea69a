import type { DeliveryStateItem } from '#delivery';
import type { Database, Site, Sql } from '#runtime';
import type { OwnerApi } from '../owners/owner-api.js';
import type { OwningService } from './letter.js';
import { missingFromSite } from './sources.js';

export interface DismissTools {
  db: Database;
  owners: ReadonlyMap<string, OwnerApi>;
  site: Pick<Site, 'destinations' | 'channels'>;
}

/** As what a letter is closed: nothing stood behind it, its owner has no row of it any more, or nobody serves its destination any more. */
export type Closed = 'dismissed' | 'row_gone' | 'destination_removed';
/** Why it stays as it is: it closes by what becomes of its delivery, an approved batch has it, somebody else was first. */
export type Left = 'delivery_decides' | 'in_batch' | 'closed_before';

/** What may be done about a letter, and the state that its delivery has at its owner, where that was asked. */
export interface Judged {
  dead_letter_id: string;
  organization: string | null;
  outcome: Closed | Left;
  state?: DeliveryStateItem['state'];
}

interface Row {
  dead_letter_id: string;
  state: string;
  service: OwningService;
  event_id: string | null;
  destination: string | null;
  organization: string | null;
  alone: boolean;
  in_batch: boolean;
}

/** An item that was approved and has not ended. */
const inBatch = `EXISTS (SELECT FROM replay_item i WHERE i.event_id = d.event_id AND i.destination = d.destination AND i.state = 'open')`;

/** `alone`: a refused lead, a lead without a route, an unreadable record, a lead without an owner that was told nevertheless. */
const readSql = `
SELECT dead_letter_id, state, service, event_id, destination, organization,
  service = 'intake' OR event_id IS NULL OR destination IS NULL OR event IS NULL OR class = 'unknown_owner' AS alone, ${inBatch} AS in_batch
FROM dead_letter d WHERE dead_letter_id = ANY ($1::uuid[]) ORDER BY dead_letter_id`;

/** In one order, so that two who close the same letters wait for each other and nothing more. */
const closeSql = `
WITH locked AS MATERIALIZED (
  SELECT dead_letter_id, v.closed_as FROM dead_letter JOIN unnest($1::uuid[], $2::text[]) AS v(dead_letter_id, closed_as) USING (dead_letter_id)
  WHERE state = 'open' ORDER BY dead_letter_id FOR UPDATE OF dead_letter
)
UPDATE dead_letter d SET state = 'closed', closed_as = locked.closed_as, closed_at = clock_now() FROM locked
WHERE d.dead_letter_id = locked.dead_letter_id AND d.state = 'open' AND NOT ${inBatch}
RETURNING d.dead_letter_id`;

/**
 * Of each of the letters that is there, in the order of the ids: what may be done about it. As many as an owner is asked about at once, at
 * most. Rejects with InternalUnavailable while an owner cannot be asked.
 */
export async function judgeDismissals({ db, owners, site }: DismissTools, ids: readonly string[]): Promise<Judged[]> {
  const rows = await db.sql<Row>('operator.letters_to_dismiss', readSql, [ids]);
  const judged = new Map(rows.map((row) => [row.dead_letter_id, { outcome: byItself(row) } as Pick<Judged, 'outcome' | 'state'>]));
  for (const [service, owner] of owners) {
    const asked = rows.flatMap((row) => {
      const { dead_letter_id: id, event_id, destination } = row;
      const decided = byItself(row) !== 'delivery_decides' || row.service !== service;
      return decided || event_id === null || destination === null ? [] : [{ id, event_id, destination }];
    });
    if (asked.length === 0) continue;
    const deliveries = await owner.states(asked.map(({ event_id, destination }) => ({ event_id, destination })));
    for (const [index, { id, destination }] of asked.entries())
      judged.set(id, byDelivery(deliveries[index], missingFromSite(site, service as OwningService, destination) !== undefined));
  }
  return rows.map(({ dead_letter_id, organization }) => {
    return { dead_letter_id, organization, ...(judged.get(dead_letter_id) ?? { outcome: 'delivery_decides' }) };
  });

  /** What is known of it here; `delivery_decides`: its owner is to be asked. */
  function byItself({ state, alone, in_batch, service }: Row): Judged['outcome'] {
    if (state !== 'open') return 'closed_before';
    if (in_batch) return 'in_batch';
    return alone || !owners.has(service) ? 'dismissed' : 'delivery_decides';
  }
}

function byDelivery(delivery: DeliveryStateItem | undefined, removed: boolean): Pick<Judged, 'outcome' | 'state'> {
  if (delivery === undefined) return { outcome: 'row_gone' };
  const { state } = delivery;
  // A destination that nobody serves takes no command and no approval, so nothing else can end these.
  const stuck = state === 'dead' || state === 'expired' || state === 'uncertain';
  return { outcome: stuck && removed ? 'destination_removed' : 'delivery_decides', state };
}

const isLeft = (outcome: Judged['outcome']): outcome is Left =>
  outcome === 'delivery_decides' || outcome === 'in_batch' || outcome === 'closed_before';

/** Closes those that may be closed; gives what each came to. What somebody else closed since it was judged is `closed_before`. */
export async function closeJudged<T extends Judged>(tx: Sql, judged: readonly T[]): Promise<T[]> {
  const closing = judged.filter(({ outcome }) => !isLeft(outcome));
  if (closing.length === 0) return [...judged];
  const values = [closing.map(({ dead_letter_id }) => dead_letter_id), closing.map(({ outcome }) => outcome)];
  const rows = await tx.sql<{ dead_letter_id: string }>('operator.dismiss_letters', closeSql, values);
  const closed = new Set(rows.map(({ dead_letter_id }) => dead_letter_id));
  return judged.map((one) => (isLeft(one.outcome) || closed.has(one.dead_letter_id) ? one : { ...one, outcome: 'closed_before' }));
}

/** How many were closed, and how many were not, by why not. */
export interface DismissCounts {
  dismissed: number;
  left: Record<Left, number>;
}

export function countOutcomes(judged: readonly Judged[]): DismissCounts {
  const counts: DismissCounts = { dismissed: 0, left: { delivery_decides: 0, in_batch: 0, closed_before: 0 } };
  for (const { outcome } of judged) {
    if (isLeft(outcome)) counts.left[outcome] += 1;
    else counts.dismissed += 1;
  }
  return counts;
}
