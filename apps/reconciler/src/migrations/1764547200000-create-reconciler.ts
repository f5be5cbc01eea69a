import type { MigrationInterface, QueryRunner } from 'typeorm';
import { schemaIdsDdl } from '#messaging';

/**
 * - `run`: one comparison of a destination over a window of deliveries. (`lease_owner`, `lease_until`): the one process that works at it;
 *   whatever a page comes to is committed together with `cursor`, fenced by it. `takes`: how often a process took it on.
 * - `look`: a record that was missed once. It is called missing when a later look misses it too.
 * - `seen`: what stood there when it was compared last. `status`: the last one that was right. Persons go by the reference of their record, so
 *   that nothing of them is kept here that an erasure would have to find.
 * - `discrepancy`: `identity` makes it the same one in the next comparison. `at`: of the lead or record, for which windows it lies in.
 * - `balance_day`: deliveries accepted on a day (UTC) by source and destination; `closed`: all of them are final.
 *
 * Names of fields stand here, never their values.
 */
const ddl = `
CREATE TABLE run (
  run_id uuid PRIMARY KEY,
  destination text NOT NULL,
  from_at timestamptz NOT NULL,
  to_at timestamptz NOT NULL,
  form text,
  campaign text,
  outcome text,
  state text NOT NULL,
  by_whom text NOT NULL,
  reason text,
  cursor jsonb NOT NULL DEFAULT '{}',
  counts jsonb NOT NULL DEFAULT '{}',
  calls integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  started_at timestamptz,
  finished_at timestamptz,
  takes integer NOT NULL DEFAULT 0,
  lease_owner uuid,
  lease_until timestamptz
);
CREATE INDEX run_newest ON run (created_at, run_id);
CREATE INDEX run_open ON run (destination) WHERE state IN ('waiting', 'running');
CREATE TABLE look (
  destination text NOT NULL,
  kind text NOT NULL,
  event_id uuid NOT NULL,
  missed_at timestamptz NOT NULL,
  PRIMARY KEY (destination, kind, event_id)
);
CREATE INDEX look_age ON look (missed_at);
CREATE TABLE seen (
  destination text NOT NULL,
  kind text NOT NULL,
  key text COLLATE "C" NOT NULL,
  ref text NOT NULL,
  version text,
  status text,
  owned boolean NOT NULL,
  seen_at timestamptz NOT NULL,
  PRIMARY KEY (destination, kind, key)
);
CREATE INDEX seen_age ON seen (seen_at);
CREATE TABLE discrepancy (
  discrepancy_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  identity text COLLATE "C" NOT NULL UNIQUE,
  destination text NOT NULL,
  organization text,
  event_id uuid,
  lead_ref text,
  kind text,
  operation_key text,
  ref text,
  class text NOT NULL,
  aspect text,
  fields text[] NOT NULL,
  evidence jsonb NOT NULL,
  urgency text NOT NULL,
  owner text NOT NULL,
  repair text,
  state text NOT NULL,
  at timestamptz NOT NULL,
  first_run_id uuid NOT NULL,
  last_run_id uuid NOT NULL,
  first_seen_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  changed_at timestamptz NOT NULL,
  by_whom text,
  approver text,
  item_id text,
  result text,
  reason text
);
CREATE INDEX discrepancy_event ON discrepancy (event_id);
CREATE INDEX discrepancy_oldest ON discrepancy (first_seen_at, discrepancy_id);
CREATE INDEX discrepancy_open ON discrepancy (destination, at) WHERE state IN ('open', 'repairing', 'repair_failed');
CREATE INDEX discrepancy_lead ON discrepancy (destination, event_id) WHERE state IN ('open', 'repairing', 'repair_failed', 'repaired');
CREATE INDEX discrepancy_run ON discrepancy (last_run_id);
CREATE TABLE balance_day (
  day date NOT NULL,
  organization text NOT NULL,
  source text NOT NULL,
  destination text NOT NULL,
  accepted integer NOT NULL,
  found jsonb NOT NULL,
  missing integer NOT NULL,
  incomplete integer NOT NULL,
  closed boolean NOT NULL,
  taken_at timestamptz NOT NULL,
  PRIMARY KEY (day, organization, source, destination)
);
CREATE TABLE received_day (
  day date NOT NULL,
  organization text NOT NULL,
  source text NOT NULL,
  received integer NOT NULL,
  accepted integer NOT NULL,
  repeats integer NOT NULL,
  conflicts integer NOT NULL,
  rejected integer NOT NULL,
  leads integer,
  taken_at timestamptz NOT NULL,
  PRIMARY KEY (day, organization, source)
);
${schemaIdsDdl}`;

export class CreateReconciler1764547200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ddl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE run, look, seen, discrepancy, balance_day, received_day, schema_id');
  }
}
