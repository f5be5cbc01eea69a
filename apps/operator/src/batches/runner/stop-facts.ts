import type { DestinationsAnswer } from '#delivery';
import type { BatchRow } from '../batch-row.js';
import { type EndedItem, type StopFacts, windowSize } from '../machine/stop-rules.js';
import type { BatchTools } from '../tools.js';
import { type CanaryItem, toEnded } from './verify-canary.js';

const lastSql = `
SELECT item_id, event_id, destination, service, state, class, letter_class, code, duration_ms, refs, found, repair FROM replay_item
WHERE batch_id = $1 AND closed_at IS NOT NULL AND sent_at IS NOT NULL ORDER BY closed_at DESC LIMIT ${windowSize}`;

/** Letters of leads that the batch tries itself are its own results, not growth. */
const lettersSql = `
SELECT count(*) FILTER (WHERE d.received_at > greatest($2, clock_now() - interval '1 minute'))::int AS per_minute,
  (count(*) FILTER (WHERE d.received_at <= $2 AND d.received_at > $2 - interval '10 minutes') / 10.0)::float8 AS before
FROM dead_letter d
WHERE d.destination = ANY ($3::text[]) AND d.received_at > $2 - interval '10 minutes'
  AND (d.received_at <= $2 OR NOT EXISTS (SELECT FROM replay_item i WHERE i.batch_id = $1 AND i.event_id = d.event_id))`;

export interface Known {
  destinations: readonly string[];
  states: DestinationsAnswer['items'];
}

/** What the rules are asked about. */
export async function stopFacts({ db, site }: BatchTools, batch: BatchRow, { destinations, states }: Known): Promise<StopFacts> {
  const last = await db.sql<CanaryItem>('operator.last_ended', lastSql, [batch.batch_id]);
  const since = batch.began_at ?? batch.now;
  const [letters] = await db.sql<{ per_minute: number; before: number }>('operator.letters_grow', lettersSql, [
    batch.batch_id,
    since,
    destinations,
  ]);
  const timeouts = destinations.map((name) => site.destinations[name]?.timeoutMs ?? Number.POSITIVE_INFINITY);
  return {
    lastEnded: last.toReversed().map((item): EndedItem => toEnded(item)),
    throttled: states
      .filter(({ destination, mode, reason }) => destinations.includes(destination) && mode !== 'flowing' && reason === 'throttled')
      .map(({ destination }) => destination),
    letters: { perMinute: letters?.per_minute ?? 0, before: Math.round(letters?.before ?? 0) },
    timeoutMs: Math.min(...timeouts),
  };
}
