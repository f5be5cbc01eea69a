import type { BalanceDay, ListBalancesAnswer, ListBalancesRequest, ReceivedDay } from '#delivery';
import type { Database, Sql } from '#runtime';
import type { Tallied } from './tally.js';

/** A day is closed once it is over and all its deliveries have ended. It stays as it was closed, unless something of it is found nowhere any more. */
const daysSql = `
INSERT INTO balance_day AS b (day, organization, source, destination, accepted, found, missing, incomplete, closed, taken_at)
SELECT i.day, i.organization, i.source, i.destination, i.accepted, i.found, i.missing, i.incomplete,
  i.final AND i.day < ($2::timestamptz AT TIME ZONE 'UTC')::date, $2
FROM json_to_recordset($1::json) AS i(day date, organization text, source text, destination text, accepted integer, found jsonb, missing integer,
  incomplete integer, final boolean)
ORDER BY i.day, i.organization, i.source, i.destination
ON CONFLICT (day, organization, source, destination) DO UPDATE
SET accepted = excluded.accepted, found = excluded.found, missing = excluded.missing, incomplete = excluded.incomplete, closed = excluded.closed,
  taken_at = excluded.taken_at
WHERE (NOT b.closed OR excluded.missing + excluded.incomplete > 0) AND b.taken_at <= excluded.taken_at`;

const receivedSql = `
INSERT INTO received_day AS r (day, organization, source, received, accepted, repeats, conflicts, rejected, leads, taken_at)
SELECT i.day, i.organization, i.source, i.received, i.accepted, i.repeats, i.conflicts, i.rejected, i.leads, $2
FROM json_to_recordset($1::json) AS i(day date, organization text, source text, received integer, accepted integer, repeats integer,
  conflicts integer, rejected integer, leads integer)
ORDER BY i.day, i.organization, i.source
ON CONFLICT (day, organization, source) DO UPDATE
SET received = excluded.received, accepted = excluded.accepted, repeats = excluded.repeats, conflicts = excluded.conflicts,
  rejected = excluded.rejected, leads = excluded.leads, taken_at = excluded.taken_at
WHERE r.taken_at <= excluded.taken_at`;

export interface TakenBalance {
  days: readonly Tallied[];
  received: readonly ReceivedDay[];
  /** End of the balance's window, ISO 8601. */
  at: string;
}

/** Keeps a balance by day. The oldest day of its window is cut short by the window's begin, so it is left as it was. */
export function storeBalance(db: Database, { days, received, at }: TakenBalance): Promise<void> {
  const [from] = [new Date(Date.parse(at) - windowMs).toISOString().slice(0, 10)];
  return db.transaction(async (tx) => {
    await tx.sql('reconciler.balance_days', daysSql, [JSON.stringify(days.filter(({ day }) => day > from)), new Date(at)]);
    await tx.sql('reconciler.received_days', receivedSql, [JSON.stringify(received), new Date(at)]);
  });
}

/** What intake lists of before `at`. */
const windowMs = 8 * 86_400_000;

interface BalanceRow extends Omit<BalanceDay, 'balanced' | 'taken_at'> {
  taken_at: Date;
}

const text = "to_char(day, 'YYYY-MM-DD') AS day";
const wanted = 'day BETWEEN $1::date AND $2::date AND ($3::text IS NULL OR source = $3)';
const listSql = `
SELECT ${text}, organization, source, destination, accepted, found, missing, incomplete, closed, taken_at FROM balance_day
WHERE ${wanted} AND ($4::text IS NULL OR destination = $4) ORDER BY balance_day.day, organization, source, destination`;
const listReceivedSql = `
SELECT organization, source, ${text}, received, accepted, repeats, conflicts, rejected, leads FROM received_day
WHERE ${wanted} ORDER BY received_day.day, organization, source`;

/** The balances of some days. Throws DatabaseUnavailable. */
export async function listBalances(db: Sql, { from, to, source, destination }: ListBalancesRequest): Promise<ListBalancesAnswer> {
  const values = [from, to, source ?? null];
  const rows = await db.sql<BalanceRow>('reconciler.balances', listSql, [...values, destination ?? null]);
  const received = await db.sql<ReceivedDay & { leads: number | null }>('reconciler.received', listReceivedSql, values);
  return {
    items: rows.map(({ taken_at, ...row }) => ({
      ...row,
      balanced: row.missing === 0 && row.incomplete === 0,
      taken_at: taken_at.toISOString(),
    })),
    received: received.map(({ leads, ...row }) => ({ ...row, ...(leads !== null && { leads }) })),
  };
}
