import type { Received } from '#messaging';
import type { Database, Logger } from '#runtime';
import { DatabaseAway } from './sql/database-away.js';
import { createStatements } from './statements.js';
import type { PlannedDelivery } from './target.js';
import { newWork } from './work.js';

/** Claims one planned delivery; resolves with what the claim met: `claimed`, `leased`, `not_due`, `closed` or `refused`. */
export type Claim<E> = (received: Received<E>, event: E, plan: PlannedDelivery) => Promise<string>;

/** The engine's coalesced claim by itself, for measuring what the rows cost a consumer. */
export function createClaim<E>({ db, logger, leaseMs }: { db: Database; logger: Logger; leaseMs: number }): Claim<E> {
  const away = new DatabaseAway({ onAway: () => undefined, onBack: () => undefined, logger });
  const { claim } = createStatements<E>({ db, away, leaseMs });
  return async (received, event, plan) => (await claim(newWork(received, event, plan))).kind;
}
