import type { DeliveryStateItem } from '#delivery';
import type { Logger, Sql } from '#runtime';
import { type DeliveryName, ownerBatch } from '../owners/owner-api.js';
import { closedAs } from './close-letter.js';

interface OpenLetter {
  dead_letter_id: string;
  event_id: string;
  destination: string;
  class: string;
  deadline_at: Date | null;
}

/** Whoever knows what became of a letter's delivery. In the order of the names; undefined where it is not known there. */
export interface LetterSource {
  states(names: readonly DeliveryName[]): Promise<(Pick<DeliveryStateItem, 'state' | 'deadline_at'> | undefined)[]>;
}

/** A lead without an owner was told of all the same: that its message arrived closes nothing. */
const openSql = `
SELECT dead_letter_id, event_id, destination, class, deadline_at FROM dead_letter
WHERE state = 'open' AND service = $1 AND event_id IS NOT NULL AND destination IS NOT NULL AND class <> 'unknown_owner'
  AND dead_letter_id > $2
ORDER BY dead_letter_id LIMIT $3`;

/** What is as it was stays unwritten: there may be a hundred thousand, and each write of a row goes to every index. */
const closeSql = `
UPDATE dead_letter d SET checked_at = clock_now(), state = 'closed', closed_as = i.closed_as, closed_at = clock_now()
FROM unnest($1::uuid[], $2::text[]) AS i(dead_letter_id, closed_as)
WHERE d.dead_letter_id = i.dead_letter_id AND d.state = 'open'`;

const beginning = '00000000-0000-0000-0000-000000000000';

/** Closes letters whose delivery has ended otherwise meanwhile: 500 of each owner at a time, one after the other, then from the beginning. */
export class LetterFollower {
  /** By service: the letter that was looked at last. */
  private readonly cursors = new Map<string, string>();

  constructor(private readonly tools: { db: Sql; owners: ReadonlyMap<string, LetterSource>; logger: Logger }) {}

  async run(): Promise<void> {
    for (const [service, owner] of this.tools.owners) await this.follow(service, owner);
  }

  private async follow(service: string, owner: LetterSource): Promise<void> {
    const { db, logger } = this.tools;
    const after = this.cursors.get(service) ?? beginning;
    const letters = await db.sql<OpenLetter>('operator.open_letters', openSql, [service, after, ownerBatch]);
    if (letters.length > 0) {
      const deliveries = await owner.states(letters.map(({ event_id, destination }) => ({ event_id, destination })));
      const ended = letters.flatMap((letter, index): { id: string; as: string }[] => {
        const as = closedAs({ class: letter.class, deadlineAt: letter.deadline_at ?? undefined }, deliveries[index]);
        return as === undefined ? [] : [{ id: letter.dead_letter_id, as }];
      });
      if (ended.length > 0) {
        await db.sql('operator.close_letters', closeSql, [ended.map(({ id }) => id), ended.map(({ as }) => as)]);
        logger.info({ component: service, count: ended.length }, 'Dead letters closed: their deliveries ended otherwise');
      }
    }
    const last = letters.length < ownerBatch ? undefined : letters.at(-1);
    this.cursors.set(service, last?.dead_letter_id ?? beginning);
  }
}
