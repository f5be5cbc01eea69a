import { z } from 'zod';
import { longestDeadlineMs } from '#contracts';
import { reasonText } from '#delivery';
import { duration, type Sql } from '#runtime';
import type { OwningService } from '../dead-letters/letter.js';
import { inOrganizations, organizationsValue, type Person } from '../people/person.js';

const shortText = z.string().min(1).max(512);
const time = z.iso.datetime({ offset: true });

/** Which open dead letters a batch is about; everything that is named must be equal, times are half-open windows. */
export const filterSchema = z
  .strictObject({
    destination: shortText.optional(),
    class: z.string().min(1).max(64).optional(),
    code: shortText.optional(),
    organization: shortText.optional(),
    source: shortText.optional(),
    form: shortText.optional(),
    submitted_from: time.optional(),
    submitted_to: time.optional(),
    dead_from: time.optional(),
    dead_to: time.optional(),
    event_ids: z.array(z.uuid()).min(1).max(1_000).optional(),
  })
  .refine((select) => Object.values(select).some((value) => value !== undefined), {
    params: { problem: 'selects everything', fix: 'Name a destination, a class, a time or event ids' },
  });
export type Filter = z.infer<typeof filterSchema>;

const largestBatch = 100_000;
const hourMs = 3_600_000;

/** From the approval on. */
export const deadline = duration.refine((ms) => ms >= 1_000 && ms <= longestDeadlineMs, {
  params: { problem: 'is no useful deadline', fix: `Write 1s to ${longestDeadlineMs / hourMs}h` },
});

const caps = {
  max: z.number().int().min(1).max(largestBatch),
  /** From the approval on; the old deadline is kept beside it. */
  new_deadline: deadline,
  rate_per_s: z.number().int().min(1).max(1_000),
  /** Items under way at once. */
  concurrency: z.number().int().min(1).max(5_000),
  /** From the first item on; whatever has not begun then is not begun any more. */
  max_duration: duration.refine((ms) => ms >= 1_000 && ms <= 24 * hourMs, {
    params: { problem: 'is no useful duration', fix: 'Write 1s to 24h' },
  }),
  /** Items of the canary; default 1 %, at least 10, at most 50. */
  canary: z.number().int().min(10).max(50),
};

const oneOf = { message: 'Name either' };

/** A new batch. `select` and `filter` are the same. */
export const draftRequest = z
  .strictObject({
    select: filterSchema.optional(),
    filter: filterSchema.optional(),
    max: caps.max.default(10_000),
    new_deadline: caps.new_deadline.default(4 * hourMs),
    rate_per_s: caps.rate_per_s.default(20),
    concurrency: caps.concurrency.default(50),
    max_duration: caps.max_duration.optional(),
    canary: caps.canary.optional(),
    reason: reasonText.min(1),
    destination: shortText.optional(),
  })
  .refine(({ select, filter }) => (select === undefined) !== (filter === undefined), {
    ...oneOf,
    path: ['filter'],
    params: { problem: 'must be there once', fix: 'Say in `filter` which dead letters are meant' },
  });
export type DraftRequest = z.infer<typeof draftRequest>;

export const editRequest = z
  .strictObject({
    new_deadline: caps.new_deadline.optional(),
    rate_per_s: caps.rate_per_s.optional(),
    concurrency: caps.concurrency.optional(),
    max_duration: caps.max_duration.optional(),
    canary: caps.canary.optional(),
    reason: reasonText.min(1).optional(),
    /** Leads whose items are taken out. */
    exclude_event_ids: z.array(z.uuid()).min(1).max(1_000).optional(),
  })
  .refine((edit) => Object.values(edit).some((value) => value !== undefined), {
    params: { problem: 'changes nothing', fix: 'Name what is to be changed' },
  });
export type EditRequest = z.infer<typeof editRequest>;

/** A dead letter that is to be tried again. */
export interface Chosen {
  dead_letter_id: string;
  event_id: string;
  destination: string;
  service: OwningService;
  organization: string | null;
  class: string;
  deadline_at: Date | null;
}

/**
 * Oldest submission first; of a delivery with several open letters the newest counts. Those with an open item come last. Only narrow columns
 * are read: there may be a hundred thousand open letters after a bad night.
 */
const sql = `
SELECT dead_letter_id, event_id, destination, service, organization, class, deadline_at FROM (
  SELECT DISTINCT ON (l.event_id, l.destination) l.dead_letter_id, l.event_id, l.destination, l.service, l.organization, l.class, l.deadline_at,
    l.submitted_at, EXISTS (
      SELECT FROM replay_item i WHERE i.event_id = l.event_id AND i.destination = l.destination AND i.state = 'open') AS has_open_item
  FROM dead_letter l
  WHERE l.state = 'open' AND l.event_id IS NOT NULL AND l.destination IS NOT NULL
    AND ($1::text IS NULL OR l.destination = $1) AND ($2::text IS NULL OR l.class = $2) AND ($3::uuid[] IS NULL OR l.event_id = ANY ($3))
    AND ($4::text IS NULL OR l.code = $4) AND ($5::text IS NULL OR l.organization = $5) AND ($6::text IS NULL OR l.source = $6)
    AND ($7::text IS NULL OR l.form = $7)
    AND ($8::timestamptz IS NULL OR l.submitted_at >= $8) AND ($9::timestamptz IS NULL OR l.submitted_at < $9)
    AND ($10::timestamptz IS NULL OR l.dead_at >= $10) AND ($11::timestamptz IS NULL OR l.dead_at < $11)
    AND ${inOrganizations('l.organization', 12)}
  ORDER BY l.event_id, l.destination, l.dead_at DESC
) newest ORDER BY has_open_item, submitted_at NULLS LAST, dead_letter_id LIMIT $13`;

/** The first `max` dead letters of a filter that the person may see. */
export function choose(db: Sql, filter: Filter, { max, person }: { max: number; person: Person }): Promise<Chosen[]> {
  const {
    destination,
    class: failure,
    event_ids,
    code,
    organization,
    source,
    form,
    submitted_from,
    submitted_to,
    dead_from,
    dead_to,
  } = filter;
  const equal = [destination, failure, event_ids, code, organization, source, form];
  const windows = [submitted_from, submitted_to, dead_from, dead_to];
  const values = [...equal, ...windows].map((value) => value ?? null);
  return db.sql<Chosen>('operator.choose_letters', sql, [...values, organizationsValue(person), max]);
}
