import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * - `erasure`: a person, or one lead, to be erased everywhere. Who it is stands here as keyed hashes alone (`subject_keys`), and outlives the erasure: it
 *   is the proof that it was done. `erasure_lead.person_key` is needed until all services have acknowledged, and is forgotten then.
 * - `erasure_place`: how much each place held when the erasure was drafted and how much it holds now; `after` is counted there, never inferred.
 * - `erasure_task`: a record at a destination, which a person deletes there and says so.
 * - `correction`: names of what changes, never the values, which lie sealed in intake's vault until they are approved. (`lookups`, `operations`): what the
 *   destination held when it was drafted. An item that is sent is approved like one of a batch; `correction_id` stands for its batch.
 */
const ddl = `
CREATE TABLE erasure (
  erasure_id uuid PRIMARY KEY,
  state text NOT NULL,
  kind text NOT NULL,
  subject_keys jsonb NOT NULL,
  organizations text[] NOT NULL,
  more boolean NOT NULL,
  hash text NOT NULL,
  author text NOT NULL,
  approver text,
  reason text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  approved_at timestamptz,
  erased_at timestamptz,
  completed_at timestamptz,
  lease_owner uuid,
  lease_until timestamptz
);
CREATE INDEX erasure_running ON erasure (approved_at) WHERE state = 'running';
CREATE INDEX erasure_created ON erasure (created_at, erasure_id);
CREATE TABLE erasure_lead (
  erasure_id uuid NOT NULL,
  event_id uuid NOT NULL,
  lead_ref text,
  organization text NOT NULL,
  person_key text,
  whole_person boolean NOT NULL,
  PRIMARY KEY (erasure_id, event_id)
);
CREATE INDEX erasure_lead_event ON erasure_lead (event_id);
CREATE TABLE erasure_place (
  erasure_id uuid NOT NULL,
  place text NOT NULL,
  position integer NOT NULL,
  before integer NOT NULL,
  after integer,
  counted_at timestamptz,
  PRIMARY KEY (erasure_id, place)
);
CREATE TABLE erasure_task (
  task_id uuid PRIMARY KEY,
  erasure_id uuid NOT NULL,
  service text NOT NULL,
  destination text NOT NULL,
  kind text NOT NULL,
  ref text NOT NULL,
  done_at timestamptz,
  done_by text,
  UNIQUE (erasure_id, service, destination, kind, ref)
);
CREATE TABLE correction (
  correction_id uuid PRIMARY KEY,
  state text NOT NULL,
  event_id uuid NOT NULL,
  destination text NOT NULL,
  service text NOT NULL,
  organization text NOT NULL,
  lead_ref text NOT NULL,
  revision integer NOT NULL,
  fields text[] NOT NULL,
  generation integer NOT NULL,
  operations jsonb NOT NULL,
  hash text NOT NULL,
  author text NOT NULL,
  approver text,
  reason text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  approved_at timestamptz,
  item_id uuid,
  not_after timestamptz,
  sent_at timestamptz,
  ended_at timestamptz,
  class text,
  code text
);
CREATE INDEX correction_open ON correction (approved_at) WHERE state IN ('approved', 'sent');
CREATE UNIQUE INDEX correction_one ON correction (event_id, destination) WHERE state IN ('draft', 'approved', 'sent');
CREATE INDEX correction_event ON correction (event_id);
`;

export class Subjects1764460800003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ddl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE erasure, erasure_lead, erasure_place, erasure_task, correction');
  }
}
