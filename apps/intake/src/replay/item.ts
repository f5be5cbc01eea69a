import type { FailureClass } from '#contracts';
import type { Sql } from '#runtime';

/** What an approved item came to. `ref`: event id of the lead. */
export type Decision = { outcome: 'done'; ref: string; code: string } | { outcome: 'failed'; class: FailureClass; code: string };

/** An approved item as its permit names it. `eventId` of a refused record is the record's own id. */
export interface ApprovedItem {
  itemId: string;
  eventId: string;
  destination: string;
  /** Of the lead from now on; the old one stays in the letter. */
  deadlineAt: Date;
}

const noteSql = `
insert into replay_item (item_id, event_id, destination, outcome, class, code, ref) values ($1, $2, $3, $4, $5, $6, $7)
on conflict (item_id) do nothing returning 1 as noted`;

/** Undoes the transaction: the item was applied before, or closed. */
export class ItemKnown extends Error {
  override readonly name = 'ItemKnown';
}

/** Notes what an item came to, in the transaction that did it. Throws ItemKnown. */
export async function noteItem(tx: Sql, item: ApprovedItem, decision: Decision): Promise<void> {
  const { outcome, code } = decision;
  const failure = outcome === 'failed' ? decision.class : null;
  const ref = outcome === 'done' ? decision.ref : null;
  const values = [item.itemId, item.eventId, item.destination, outcome, failure, code, ref];
  if ((await tx.sql('intake.note_item', noteSql, values)).length === 0) throw new ItemKnown('The item was applied or closed before');
}

const roundsSql = `select count(*)::int as rounds from replay_item where event_id = $1 and destination = $2 and outcome <> 'closed'`;

/** How often a lead or a record was decided on again. */
export async function roundsOf(db: Sql, { eventId, destination }: ApprovedItem): Promise<number> {
  const [row] = await db.sql<{ rounds: number }>('intake.rounds_of', roundsSql, [eventId, destination]);
  return row?.rounds ?? 0;
}
