import type { MigrationInterface, QueryRunner } from 'typeorm';
import { outboxDdl, schemaIdsDdl } from '#messaging';

/**
 * - `dead_letter` is the truth of what a person must decide. References only: `event` is the record of a public contract, kept where it could
 *   be read as one; bytes that could not are known by their coordinates alone. `identity` says which end of which delivery it is, so that
 *   the same dead letter is one row however often and by whatever way it comes. Times: `submitted_at` and `first_seen_at` are the lead's,
 *   `dead_at` is when it was handed over to the dead-letter topic, `received_at` when it came here.
 * - `audit`: who decided what; only ever appended to, and never deleted: it outlives what was decided about, and names it by reference alone.
 * - `replay_item` is one delivery of an approved batch; a delivery has one open item at most. It goes with its letter, a batch with its last item.
 */
const operatorDdl = `
CREATE TABLE dead_letter (
  dead_letter_id uuid PRIMARY KEY,
  identity text COLLATE "C" NOT NULL UNIQUE,
  state text NOT NULL DEFAULT 'open',
  service text NOT NULL,
  event_id uuid,
  destination text,
  lead_ref text,
  organization text,
  source text,
  form text,
  campaign text,
  submission_ref text,
  policy text,
  test boolean NOT NULL,
  operation_key text COLLATE "C",
  operation_kind text,
  endpoint text,
  class text NOT NULL,
  code text,
  status smallint,
  reference text,
  attempts integer NOT NULL,
  provider_request_id text,
  traceparent text,
  tracestate text,
  submitted_at timestamptz,
  first_seen_at timestamptz,
  deadline_at timestamptz,
  dead_at timestamptz NOT NULL,
  received_at timestamptz NOT NULL,
  owner text NOT NULL,
  disposition text NOT NULL,
  respond_by timestamptz NOT NULL,
  delete_after timestamptz NOT NULL,
  operations jsonb NOT NULL,
  history jsonb NOT NULL,
  found_by text NOT NULL,
  topic text,
  partition integer,
  record_offset bigint,
  origin_topic text,
  origin_partition integer,
  origin_offset bigint,
  record_key bytea,
  event bytea,
  closed_at timestamptz,
  closed_as text,
  checked_at timestamptz NOT NULL
);
CREATE INDEX dead_letter_open ON dead_letter (destination, class, submitted_at) WHERE state = 'open';
CREATE INDEX dead_letter_checked ON dead_letter (checked_at) WHERE state = 'open';
CREATE INDEX dead_letter_event ON dead_letter (event_id);
CREATE INDEX dead_letter_closed ON dead_letter (delete_after) WHERE state <> 'open';
CREATE TABLE replay_batch (
  batch_id uuid PRIMARY KEY,
  state text NOT NULL,
  approver text NOT NULL,
  approved_by text NOT NULL,
  reason text,
  selection jsonb NOT NULL,
  maximum integer NOT NULL,
  approved_at timestamptz NOT NULL,
  not_after timestamptz NOT NULL,
  deadline_at timestamptz NOT NULL,
  ended_at timestamptz,
  ended_by text
);
CREATE INDEX replay_batch_open ON replay_batch (batch_id) WHERE state IN ('running', 'paused');
CREATE TABLE replay_item (
  batch_id uuid NOT NULL,
  item_id uuid NOT NULL UNIQUE,
  dead_letter_id uuid NOT NULL,
  event_id uuid NOT NULL,
  destination text NOT NULL,
  service text NOT NULL,
  state text NOT NULL,
  original_deadline_at timestamptz,
  closed_at timestamptz,
  checked_at timestamptz NOT NULL,
  PRIMARY KEY (batch_id, item_id)
);
CREATE TABLE audit (
  audit_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL,
  caller text NOT NULL,
  person text NOT NULL,
  action text NOT NULL,
  subject jsonb NOT NULL
);
CREATE INDEX replay_item_letter ON replay_item (dead_letter_id);
CREATE UNIQUE INDEX replay_item_open ON replay_item (event_id, destination) WHERE state = 'open';
`;

export class CreateOperator1764374400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const ddl of [operatorDdl, outboxDdl, schemaIdsDdl]) await runner.query(ddl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE dead_letter, replay_batch, replay_item, audit, outbox, outbox_parked, schema_id');
  }
}
