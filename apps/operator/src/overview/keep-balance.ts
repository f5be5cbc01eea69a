import { type Balance, balanceSources, takeBalance } from '#delivery';
import type { InternalClient, Logger, Sql } from '#runtime';

/** What is kept of a balance: the sums, and the first of what is missing. */
export interface KeptBalance {
  balanced: boolean;
  as_of: string;
  accepted: number;
  delivered: number;
  open: number;
  dead: number;
  expired: number;
  discarded: number;
  erased: number;
  /** Found nowhere, or only in part. */
  unaccounted: number;
}

/** Between two looks whether it is time for one; so long after the beginning there is a first one. */
export const balanceEveryS = 15;
/** Between two balances: each reads every accepted delivery of its window. */
const everyMinutes = 10;
/** So few are read in no time, and somebody who has just begun wants to see them. */
const fewDeliveries = 10_000;
/** Between two balances of few deliveries, and after one that could not be taken. */
const soonS = 60;

const beginSql = `
INSERT INTO overview_balance (one_row, began_at) VALUES (true, clock_now())
ON CONFLICT (one_row) DO UPDATE SET began_at = clock_now() WHERE overview_balance.began_at < clock_now() - CASE
  WHEN overview_balance.balance IS NULL OR (overview_balance.balance->>'accepted')::int = 0 THEN interval '${balanceEveryS} seconds'
  WHEN overview_balance.at < overview_balance.began_at OR (overview_balance.balance->>'accepted')::int < ${fewDeliveries} THEN interval '${soonS} seconds'
  ELSE interval '${everyMinutes} minutes' END
RETURNING one_row`;
const storeSql = 'UPDATE overview_balance SET at = clock_now(), balance = $1::jsonb';
const readSql = 'SELECT balance FROM overview_balance WHERE balance IS NOT NULL';

export interface BalanceTools {
  db: Sql;
  intake: InternalClient;
  owner: InternalClient;
  logger: Logger;
}

/** Takes the balance, the same as `leadctl balance`, when it is time; of several processes one does. Rejects like `takeBalance`. */
export async function keepBalance({ db, intake, owner, logger }: BalanceTools): Promise<void> {
  if ((await db.sql('operator.begin_balance', beginSql, [])).length === 0) return;
  const kept = toKept(await takeBalance(balanceSources({ intake, owner })));
  await db.sql('operator.store_balance', storeSql, [JSON.stringify(kept)]);
  if (!kept.balanced) logger.error({ count: kept.unaccounted }, 'Accepted deliveries are unaccounted for');
}

export async function readBalance(db: Sql): Promise<KeptBalance | null> {
  const [row] = await db.sql<{ balance: KeptBalance }>('operator.read_balance', readSql, []);
  return row?.balance ?? null;
}

/** Every accepted delivery counts in one of the sums. Pure. */
export function toKept(balance: Balance): KeptBalance {
  const { accepted, balanced, at, found, missing, incomplete } = balance;
  const { delivered = 0, dead = 0, expired = 0, discarded = 0, erased = 0 } = found;
  const unaccounted = missing.length + incomplete.length;
  const open = accepted - delivered - dead - expired - discarded - erased - unaccounted;
  return { balanced, as_of: at, accepted, delivered, open, dead, expired, discarded, erased, unaccounted };
}
