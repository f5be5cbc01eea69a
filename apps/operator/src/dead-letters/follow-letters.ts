import type { Logger, Sql } from '#runtime';
import { type OwnerApi, ownerBatch } from '../owners/owner-api.js';
import { closedAs } from './close-letter.js';

interface OpenLetter {
  dead_letter_id: string;
  event_id: string;
  destination: string;
  class: string;
  deadline_at: Date | null;
}

/** A lead without an owner was told of all the same: that its message arrived closes nothing. */
const openSql = `
SELECT dead_letter_id, event_id, destination, class, deadline_at FROM dead_letter
WHERE state = 'open' AND service = $1 AND event_id IS NOT NULL AND destination IS NOT NULL AND class <> 'unknown_owner'
ORDER BY checked_at LIMIT $2`;

const closeSql = `
UPDATE dead_letter d SET checked_at = clock_now(), state = CASE WHEN i.closed_as IS NULL THEN d.state ELSE 'closed' END,
  closed_as = i.closed_as, closed_at = CASE WHEN i.closed_as IS NULL THEN NULL ELSE clock_now() END
FROM unnest($1::uuid[], $2::text[]) AS i(dead_letter_id, closed_as)
WHERE d.dead_letter_id = i.dead_letter_id AND d.state = 'open'`;

/** Closes letters whose delivery has ended otherwise meanwhile; those looked at longest ago first, 500 of each owner at a time. */
export async function followLetters(db: Sql, owners: ReadonlyMap<string, OwnerApi>, logger: Logger): Promise<void> {
  for (const [service, owner] of owners) {
    const letters = await db.sql<OpenLetter>('operator.open_letters', openSql, [service, ownerBatch]);
    if (letters.length === 0) continue;
    const deliveries = await owner.states(letters.map(({ event_id, destination }) => ({ event_id, destination })));
    const closed = letters.map((letter, index) =>
      closedAs({ class: letter.class, deadlineAt: letter.deadline_at ?? undefined }, deliveries[index]),
    );
    await db.sql('operator.close_letters', closeSql, [letters.map(({ dead_letter_id }) => dead_letter_id), closed.map((as) => as ?? null)]);
    const count = closed.filter((as) => as !== undefined).length;
    if (count > 0) logger.info({ component: service, count }, 'Dead letters closed: their deliveries ended otherwise');
  }
}
