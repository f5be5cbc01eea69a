import { contactsDdl } from './contacts/ddl.js';
import { destinationDdl } from './destination/ddl.js';

/**
 * Additions to the tables of the delivery engine for what outlives a failure: approved replays, lookups of what stayed uncertain, deadlines of
 * what waits, the state of destinations and whose turn a person's record is. Columns of rows of before say that none of it happened to them.
 *
 * - `delivery.replay_item`: the approved item that was applied last. `closed_items`: items that were closed before they were applied, so that
 *   none of their records is any more. `original_deadline_at`: the deadline before an approved item set it anew. `raised_at`: it has been
 *   uncertain so long that its owner was told; it never outlives that state.
 * - `operation.attempts_before`: calls before the last approved item, which brings a new allowance. `absences`: lookups in a row that found
 *   nothing.
 *
 * Whatever of it is there already stays as it is: some databases were made with part of it.
 */
export const recoveryDdl = `
ALTER TABLE delivery
  ADD COLUMN IF NOT EXISTS replay_item uuid,
  ADD COLUMN IF NOT EXISTS closed_items uuid[] NOT NULL DEFAULT '{}',
  ADD COLUMN IF NOT EXISTS original_deadline_at timestamptz,
  ADD COLUMN IF NOT EXISTS raised_at timestamptz;
ALTER TABLE operation
  ADD COLUMN IF NOT EXISTS attempts_before integer NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS absences smallint NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS looked_up_at timestamptz;
CREATE INDEX IF NOT EXISTS delivery_deadline ON delivery (deadline_at) WHERE state IN ('pending', 'waiting', 'held');
CREATE INDEX IF NOT EXISTS delivery_queued ON delivery (destination) WHERE state IN ('pending', 'waiting');
CREATE INDEX IF NOT EXISTS delivery_uncertain ON delivery ((coalesce(lease_until, next_attempt_at, '-infinity'))) WHERE state = 'uncertain';
CREATE INDEX IF NOT EXISTS delivery_failed ON delivery (updated_at, event_id, destination)
  WHERE state IN ('dead', 'expired') OR (state = 'uncertain' AND raised_at IS NOT NULL);
${destinationDdl}${contactsDdl}`;

/** Takes back {@link recoveryDdl}. */
export const recoveryDdlDown = `
DROP TABLE contact_state, destination_state;
DROP INDEX delivery_contact_busy, delivery_failed, delivery_uncertain, delivery_queued, delivery_deadline;
ALTER TABLE operation DROP COLUMN looked_up_at, DROP COLUMN absences, DROP COLUMN attempts_before;
ALTER TABLE delivery DROP COLUMN raised_at, DROP COLUMN original_deadline_at, DROP COLUMN closed_items, DROP COLUMN replay_item;
`;
