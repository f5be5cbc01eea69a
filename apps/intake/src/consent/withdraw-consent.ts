import type { Sql } from '#runtime';

/** `gone`: nothing of the lead is kept any more, so nothing can be sent either. */
export type Withdrawal = 'withdrawn' | 'gone' | 'unknown';

const sql = `
with asked as (
  select lead_ref from lead where event_id = $1
), withdrawn as (
  update vault set consent_withdrawn_at = coalesce(consent_withdrawn_at, clock_now()) where lead_ref in (select lead_ref from asked)
  returning lead_ref
)
select case when exists (select from withdrawn) then 'withdrawn' when exists (select from asked) then 'gone' else 'unknown' end as result`;

/**
 * Notes for every revision of a lead that consent was withdrawn: from then on a vault read says so, and nothing more goes to a destination that
 * requires consent. To repeat it changes nothing. Throws DatabaseUnavailable.
 */
export async function withdrawConsent(db: Sql, eventId: string): Promise<Withdrawal> {
  const [row] = await db.sql<{ result: Withdrawal }>('intake.withdraw_consent', sql, [eventId]);
  return row?.result ?? 'unknown';
}
