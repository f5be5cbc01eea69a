import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A batch from draft to end. `hash` is over its items and caps. `paused_from`: where it goes on. `why`: the word for its last pause, stop or
 * refusal. (`lease_owner`, `lease_until`): the one runner that may send of it; every change that a runner makes is fenced by it.
 *
 * An item is `listed` until its batch is approved, then `open` (`sent_at`: its record stands in the outbox since then), or `skipped` by its
 * verdict; then what it came to. What identifies its request is frozen with the list.
 */
const ddl = `
ALTER TABLE replay_batch
  ALTER COLUMN approver DROP NOT NULL, ALTER COLUMN approved_by DROP NOT NULL, ALTER COLUMN approved_at DROP NOT NULL,
  ALTER COLUMN not_after DROP NOT NULL, ALTER COLUMN deadline_at DROP NOT NULL,
  ADD COLUMN author text NOT NULL DEFAULT '',
  ADD COLUMN edited_by text,
  ADD COLUMN policy text NOT NULL DEFAULT 'second_person',
  ADD COLUMN hash text NOT NULL DEFAULT '',
  ADD COLUMN organizations text[] NOT NULL DEFAULT '{}',
  ADD COLUMN items integer NOT NULL DEFAULT 0,
  ADD COLUMN rate_per_s integer NOT NULL DEFAULT 20,
  ADD COLUMN concurrency integer NOT NULL DEFAULT 50,
  ADD COLUMN max_duration_ms bigint NOT NULL DEFAULT 3600000,
  ADD COLUMN new_deadline_ms bigint NOT NULL DEFAULT 14400000,
  ADD COLUMN canary_wanted integer,
  ADD COLUMN canary_size integer NOT NULL DEFAULT 0,
  ADD COLUMN canary_lookups integer NOT NULL DEFAULT 0,
  ADD COLUMN canary_vouched_by text,
  ADD COLUMN created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ADD COLUMN checked_at timestamptz,
  ADD COLUMN approval_expires_at timestamptz,
  ADD COLUMN began_at timestamptz,
  ADD COLUMN running_at timestamptz,
  ADD COLUMN paused_from text,
  ADD COLUMN why text,
  ADD COLUMN why_detail text,
  ADD COLUMN lease_owner uuid,
  ADD COLUMN lease_until timestamptz;
DROP INDEX replay_batch_open;
CREATE INDEX replay_batch_open ON replay_batch (batch_id) WHERE state IN ('approved', 'canary', 'running', 'paused');
CREATE INDEX replay_batch_created ON replay_batch (created_at, batch_id);
ALTER TABLE replay_item
  ADD COLUMN position integer NOT NULL DEFAULT 0,
  ADD COLUMN organization text,
  ADD COLUMN lead_ref text,
  ADD COLUMN letter_class text,
  ADD COLUMN verdict text,
  ADD COLUMN detail text,
  ADD COLUMN operation_keys text[] NOT NULL DEFAULT '{}',
  ADD COLUMN mapping_version integer,
  ADD COLUMN request_hash text,
  ADD COLUMN generation integer,
  ADD COLUMN canary boolean NOT NULL DEFAULT false,
  ADD COLUMN sent_at timestamptz,
  ADD COLUMN class text,
  ADD COLUMN code text,
  ADD COLUMN duration_ms integer,
  ADD COLUMN refs jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN found text,
  ADD COLUMN lookups integer NOT NULL DEFAULT 0;
CREATE INDEX replay_item_listed ON replay_item (batch_id, position);
CREATE INDEX replay_item_unsent ON replay_item (batch_id, position) WHERE state = 'open' AND sent_at IS NULL;
CREATE INDEX replay_item_outstanding ON replay_item (batch_id, checked_at) WHERE state = 'open' AND sent_at IS NOT NULL;
CREATE INDEX replay_item_ended ON replay_item (batch_id, closed_at) WHERE closed_at IS NOT NULL;
CREATE INDEX replay_item_event ON replay_item (event_id);
CREATE INDEX dead_letter_received ON dead_letter (destination, received_at);
`;

export class Batches1764460800001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ddl);
  }

  /** The columns stay: rows without an approver cannot go back to the tables before. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX replay_batch_created, replay_item_listed, replay_item_unsent, replay_item_outstanding, replay_item_ended, replay_item_event,
        dead_letter_received`);
  }
}
