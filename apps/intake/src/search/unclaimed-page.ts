import { z } from 'zod';
import type { WaitingItem } from '#delivery';
import type { Sql } from '#runtime';

export const unclaimedPageRequest = z.strictObject({
  destinations: z.array(z.string().min(1).max(512)).min(1).max(500),
  /** Position of the last item of the page before. */
  after: z
    .strictObject({ submitted_us: z.string().regex(/^-?\d{1,18}$/), event_id: z.uuid(), destination: z.string().max(512) })
    .optional(),
  limit: z.int().min(1).max(200).default(50),
});
export type UnclaimedPageRequest = z.infer<typeof unclaimedPageRequest>;

interface Row extends Pick<WaitingItem, 'event_id' | 'destination' | 'lead_ref' | 'test' | 'submitted_us'> {
  submitted_at: Date;
  deadline_at: Date;
  event: Buffer;
}

/** When a delivery was submitted, as its index has it; of one that came before the column was there, when it was accepted. */
const submittedAt = 'coalesce(d.submitted_at, d.as_of)';

/** The page is found in its index, however many there are; records are read for it alone. */
export const pageSql = `
with page as materialized (
  select d.event_id, d.destination, d.deadline_at, ${submittedAt} as at from delivery d
  where d.state = 'accepted' and d.claimed_at is null and d.destination = any($1::text[])
    and (${submittedAt}, d.event_id, d.destination collate "C")
      > (case when $2::bigint is null then '-infinity' else to_timestamp(0) + $2::bigint * interval '1 microsecond' end,
        coalesce($3::uuid, '00000000-0000-0000-0000-000000000000'), coalesce($4::text, ''))
  order by ${submittedAt}, d.event_id, d.destination collate "C" limit $5)
select page.event_id, page.destination, l.lead_ref, l.test, l.submitted_at, (extract(epoch from page.at) * 1000000)::bigint::text as submitted_us,
  page.deadline_at, l.event
from page join lead l using (event_id) order by page.at, page.event_id, page.destination collate "C"`;

/**
 * Deliveries to these destinations that, as far as intake knows, nobody has claimed; the longest submitted first. Their owner may have claimed
 * some since intake heard of it last: whoever asks asks it as well. Throws DatabaseUnavailable.
 */
export async function unclaimedPage(
  db: Sql,
  { destinations, after, limit }: UnclaimedPageRequest,
): Promise<{ items: Omit<WaitingItem, 'attempts'>[] }> {
  const values = [destinations, after?.submitted_us ?? null, after?.event_id ?? null, after?.destination ?? null, limit];
  const rows = await db.sql<Row>('intake.unclaimed_page', pageSql, values);
  const items = rows.map((row) => ({
    ...row,
    state: 'accepted' as const,
    submitted_at: row.submitted_at.toISOString(),
    deadline_at: row.deadline_at.toISOString(),
    event: row.event.toString('base64'),
  }));
  return { items };
}
