import type { Sql } from '#runtime';

/** `gone`: nothing of the lead is kept any more, so nothing can be sent either. */
export type Withdrawal = 'withdrawn' | 'gone' | 'unknown';

export interface WithdrawnLead {
  eventId: string;
  /** When the person said so, where that is known; never later than now. Default: now. */
  at?: Date;
  /** Only a lead of this source; anything else is unknown. Default: any lead. */
  of?: { organization: string; source: string };
}

/**
 * The key outlives the lead. It is found by the time of acceptance, which the event id carries: keys are not indexed by event id, and a range of
 * that one millisecond reads a few pages.
 */
const sql = `
with asked as (
  select lead_ref from intake_key
  where event_id = $1 and accepted_at between to_timestamp(($5::float8 - 1) / 1000) and to_timestamp(($5::float8 + 1) / 1000)
    and ($3::text is null or (organization = $3 and source = $4))
), withdrawn as (
  update vault set consent_withdrawn_at = coalesce(consent_withdrawn_at, least($2::timestamptz, clock_now())) where lead_ref in (select lead_ref from asked)
    and sealed <> ''
  returning lead_ref
)
select case when exists (select from withdrawn) then 'withdrawn' when exists (select from asked) then 'gone' else 'unknown' end as result`;

/** Milliseconds at which a lead was accepted: the first 48 bits of its event id (UUID v7). */
const acceptedAtMs = (eventId: string): number => Number.parseInt(eventId.replaceAll('-', '').slice(0, 12), 16);

/**
 * Notes for every revision of a lead that consent was withdrawn: from then on a vault read says so, and nothing more goes to a destination that
 * requires consent. To repeat it changes nothing. Throws DatabaseUnavailable.
 */
export async function withdrawConsent(db: Sql, { eventId, at, of }: WithdrawnLead): Promise<Withdrawal> {
  const values = [eventId, at ?? null, of?.organization ?? null, of?.source ?? null, acceptedAtMs(eventId)];
  const [row] = await db.sql<{ result: Withdrawal }>('intake.withdraw_consent', sql, values);
  return row?.result ?? 'unknown';
}
