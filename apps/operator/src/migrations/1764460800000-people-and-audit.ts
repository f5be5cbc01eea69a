import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * - `audit_seal` chains the rows of `audit` after they are committed, so that an action never waits for the chain: `seq` without gaps, `hash`
 *   over the hash before and the row. Rows of `audit` are therefore never updated.
 * - Both are append-only by trigger, not by grant: every run of the migrations grants the role of the service all changes on all tables, and only
 *   the owner of a table, which the service is not, can take its triggers away.
 */
const ddl = `
ALTER TABLE audit ADD COLUMN organization text;
CREATE INDEX audit_person ON audit (person, audit_id);
CREATE INDEX audit_action ON audit (action, audit_id);
CREATE INDEX audit_about ON audit USING gin (subject);
CREATE TABLE audit_seal (
  seq bigint PRIMARY KEY,
  audit_id bigint NOT NULL UNIQUE,
  hash bytea NOT NULL,
  sealed_at timestamptz NOT NULL
);
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'table % is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_seal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_seal EXECUTE FUNCTION refuse_change();
`;

export class PeopleAndAudit1764460800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ddl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE audit_seal;
      DROP TRIGGER audit_append_only ON audit;
      DROP FUNCTION refuse_change;
      DROP INDEX audit_person, audit_action, audit_about;
      ALTER TABLE audit DROP COLUMN organization`);
  }
}
