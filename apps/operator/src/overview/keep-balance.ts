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

/** So long after its last sign of life whoever takes one is taken for dead. */
const leaseMs = 180_000;

const leaseSql = "clock_now() + $1::int * interval '1 ms'";
const beginSql = `
INSERT INTO overview_balance (one_row, began_at, lease_until) VALUES (true, clock_now(), ${leaseSql})
ON CONFLICT (one_row) DO UPDATE SET began_at = clock_now(), lease_until = ${leaseSql}
WHERE coalesce(overview_balance.lease_until < clock_now(), true) AND overview_balance.began_at < clock_now() - CASE
  WHEN overview_balance.balance IS NULL OR (overview_balance.balance->>'accepted')::int = 0 THEN interval '${balanceEveryS} seconds'
  WHEN overview_balance.at < overview_balance.began_at OR (overview_balance.balance->>'accepted')::int < ${fewDeliveries} THEN interval '${soonS} seconds'
  ELSE interval '${everyMinutes} minutes' END
RETURNING began_at::text`;
const renewSql = `UPDATE overview_balance SET lease_until = ${leaseSql} WHERE began_at = $2::timestamptz`;
const endSql = 'UPDATE overview_balance SET lease_until = NULL WHERE began_at = $1::timestamptz';
const storeSql = 'UPDATE overview_balance SET at = clock_now(), balance = $1::jsonb';
const readSql = 'SELECT balance FROM overview_balance WHERE balance IS NOT NULL';

export interface BalanceTools {
  db: Sql;
  intake: InternalClient;
  owner: InternalClient;
  logger: Logger;
}

/**
 * Takes the balance, the same as `leadctl balance`, when it is time; of several processes one does, however long it takes. Rejects like
 * `takeBalance`.
 */
export async function keepBalance({ db, intake, owner, logger }: BalanceTools, lease = leaseMs): Promise<void> {
  const [begun] = await db.sql<{ began_at: string }>('operator.begin_balance', beginSql, [lease]);
  if (begun === undefined) return;
  const renew = () => db.sql('operator.renew_balance', renewSql, [lease, begun.began_at]);
  const renewal = setInterval(() => void renew().catch((err) => logger.warn({ err }, 'The balance could not be kept as begun')), lease / 3);
  let kept: KeptBalance;
  try {
    kept = toKept(await takeBalance(balanceSources({ intake, owner })));
    await db.sql('operator.store_balance', storeSql, [JSON.stringify(kept)]);
  } finally {
    clearInterval(renewal);
    await db.sql('operator.end_balance', endSql, [begun.began_at]);
  }
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
