import type { Sql } from '#runtime';
import type { OwningService } from '../dead-letters/letter.js';

/** Which open dead letters an approval is about; what is named must be equal. */
export interface Selection {
  destination?: string;
  class?: string;
  event_ids?: string[];
}

export interface CandidateRow {
  dead_letter_id: string;
  event_id: string;
  destination: string;
  service: OwningService;
  class: string;
  policy: string | null;
  submitted_at: Date | null;
  deadline_at: Date | null;
  traceparent: string | null;
  tracestate: string | null;
  origin_topic: string | null;
  origin_partition: number | null;
  origin_offset: string | null;
  record_key: Buffer | null;
  event: Buffer | null;
  has_open_item: boolean;
}

/**
 * Oldest submission first; of a delivery with several open letters the newest counts. Those with an open item come last. Records are read of
 * the chosen ones alone: there may be a hundred thousand open letters after a bad night.
 */
const sql = `
SELECT d.dead_letter_id, d.event_id, d.destination, d.service, d.class, d.policy, d.submitted_at, d.deadline_at, d.traceparent, d.tracestate,
  d.origin_topic, d.origin_partition, d.origin_offset, d.record_key, d.event, chosen.has_open_item
FROM (
  SELECT dead_letter_id, submitted_at, has_open_item FROM (
    SELECT DISTINCT ON (l.event_id, l.destination) l.dead_letter_id, l.submitted_at, i.item_id IS NOT NULL AS has_open_item
    FROM dead_letter l LEFT JOIN replay_item i ON i.event_id = l.event_id AND i.destination = l.destination AND i.state = 'open'
    WHERE l.state = 'open' AND l.event_id IS NOT NULL AND l.destination IS NOT NULL
      AND ($1::text IS NULL OR l.destination = $1) AND ($2::text IS NULL OR l.class = $2) AND ($3::uuid[] IS NULL OR l.event_id = ANY ($3))
    ORDER BY l.event_id, l.destination, l.dead_at DESC
  ) newest ORDER BY has_open_item, submitted_at NULLS LAST, dead_letter_id LIMIT $4
) chosen JOIN dead_letter d USING (dead_letter_id) ORDER BY chosen.has_open_item, d.submitted_at NULLS LAST, d.dead_letter_id`;

/** The first `maximum` dead letters of a selection. */
export function findCandidates(db: Sql, selection: Selection, maximum: number): Promise<CandidateRow[]> {
  const { destination = null, class: failure = null, event_ids = null } = selection;
  return db.sql<CandidateRow>('operator.candidates', sql, [destination, failure, event_ids, maximum]);
}
