import type { MigrationInterface, QueryRunner } from 'typeorm';

const openColumns = [
  'group_key uuid NOT NULL',
  'event_id uuid',
  'class text NOT NULL',
  'destination text',
  'code text',
  'schema_id integer',
  'organization text',
  'owner text NOT NULL',
  'disposition text NOT NULL',
  'assignee text',
  'test boolean NOT NULL',
  'age_from timestamptz NOT NULL',
  'dead_at timestamptz NOT NULL',
  'respond_by timestamptz NOT NULL',
];
const openNames = openColumns.map((column) => column.split(' ')[0]).join(', ');

/**
 * - `dead_letter.age_from`: what its age counts from; `group_key`: equal for letters of one class, destination, code and schema. Both are made by
 *   the database, so that whoever writes a letter cannot forget them. `schema_id`: of the writer's schema, where the record could be read that far.
 *   The indexes are of open letters alone: closed ones are many and are asked for rarely.
 * - `open_letter` is what groups and counts are made of: the open letters once more, without what makes their rows wide. Kept by triggers, in the
 *   transaction of whoever changes a letter.
 * - `letter_note` is appended to and goes with its letter.
 * - `untold_letter`: new letters that no notice tells of yet; written with the letter, taken away by the transaction that makes the notice.
 * - `owner_notice` is one message to the owner of a failure class: `waiting` (from `due_at`), `sending` (until `lease_until` whoever took it is
 *   at work; after that nobody knows), then `sent`, `uncertain` or `refused`. What may have left is never sent again.
 * - `overview_sample`: one row a minute, kept for a day.
 */
const ddl = `
ALTER TABLE dead_letter
  ADD COLUMN schema_id integer,
  ADD COLUMN assignee text,
  ADD COLUMN age_from timestamptz GENERATED ALWAYS AS (coalesce(submitted_at, first_seen_at, dead_at)) STORED,
  ADD COLUMN group_key uuid GENERATED ALWAYS AS (md5(coalesce(destination, '') || E'\\x1f' || class || E'\\x1f' || coalesce(code, '') || E'\\x1f' ||
    coalesce(schema_id::text, ''))::uuid) STORED;
DROP INDEX dead_letter_checked;
CREATE INDEX dead_letter_followed ON dead_letter (service, dead_letter_id) WHERE state = 'open';
CREATE INDEX dead_letter_age ON dead_letter (age_from, dead_letter_id);
CREATE INDEX dead_letter_open_age ON dead_letter (age_from, dead_letter_id) WHERE state = 'open';
CREATE INDEX dead_letter_open_due ON dead_letter (respond_by, dead_letter_id) WHERE state = 'open';
CREATE INDEX dead_letter_open_class ON dead_letter (class, age_from, dead_letter_id) WHERE state = 'open';
CREATE INDEX dead_letter_open_destination ON dead_letter (destination, age_from, dead_letter_id) WHERE state = 'open';
CREATE INDEX dead_letter_open_organization ON dead_letter (organization, age_from, dead_letter_id) WHERE state = 'open';
CREATE INDEX dead_letter_open_code ON dead_letter (code, age_from, dead_letter_id) WHERE state = 'open';
CREATE INDEX dead_letter_open_group ON dead_letter (group_key, age_from, dead_letter_id) WHERE state = 'open';
CREATE INDEX dead_letter_lead_ref ON dead_letter (lead_ref);
CREATE TABLE open_letter (
  dead_letter_id uuid NOT NULL,
  ${openColumns.join(', ')},
  PRIMARY KEY (dead_letter_id)
);
CREATE INDEX open_letter_group ON open_letter (group_key, dead_at);
CREATE FUNCTION keep_open_letters() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM open_letter o USING before b WHERE o.dead_letter_id = b.dead_letter_id;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO open_letter (dead_letter_id, ${openNames}) SELECT dead_letter_id, ${openNames} FROM after WHERE state = 'open';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER open_letter_new AFTER INSERT ON dead_letter REFERENCING NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION keep_open_letters();
CREATE TRIGGER open_letter_change AFTER UPDATE ON dead_letter REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT
  EXECUTE FUNCTION keep_open_letters();
CREATE TRIGGER open_letter_gone AFTER DELETE ON dead_letter REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION keep_open_letters();
INSERT INTO open_letter (dead_letter_id, ${openNames}) SELECT dead_letter_id, ${openNames} FROM dead_letter WHERE state = 'open';
CREATE TABLE letter_note (
  note_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  dead_letter_id uuid NOT NULL,
  at timestamptz NOT NULL,
  by text NOT NULL,
  text text NOT NULL
);
CREATE INDEX letter_note_letter ON letter_note (dead_letter_id, note_id);
CREATE TRIGGER letter_note_unchanged BEFORE UPDATE OR TRUNCATE ON letter_note EXECUTE FUNCTION refuse_change();
CREATE TABLE untold_letter (
  dead_letter_id uuid PRIMARY KEY,
  owner text NOT NULL,
  class text NOT NULL,
  destination text,
  respond_by timestamptz NOT NULL,
  test boolean NOT NULL
);
CREATE TABLE owner_notice (
  notice_id uuid PRIMARY KEY,
  owner text NOT NULL,
  channel text NOT NULL,
  test boolean NOT NULL,
  state text NOT NULL,
  letters integer NOT NULL,
  counts jsonb NOT NULL,
  respond_by timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  due_at timestamptz NOT NULL,
  attempt_id uuid,
  lease_until timestamptz,
  attempts integer NOT NULL DEFAULT 0,
  code text,
  reference text,
  ended_at timestamptz
);
CREATE INDEX owner_notice_owner ON owner_notice (owner, test, created_at);
CREATE INDEX owner_notice_open ON owner_notice (due_at) WHERE state IN ('waiting', 'sending');
CREATE TABLE overview_sample (
  at timestamptz PRIMARY KEY,
  sample jsonb NOT NULL
);
CREATE TABLE overview_balance (
  one_row boolean PRIMARY KEY DEFAULT true CHECK (one_row),
  began_at timestamptz NOT NULL,
  at timestamptz,
  balance jsonb
);
`;

export class Queues1764460800002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ddl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER open_letter_new ON dead_letter; DROP TRIGGER open_letter_change ON dead_letter; DROP TRIGGER open_letter_gone ON dead_letter;
      DROP FUNCTION keep_open_letters;
      DROP TABLE open_letter, letter_note, untold_letter, owner_notice, overview_sample, overview_balance;
      DROP INDEX dead_letter_followed, dead_letter_age, dead_letter_lead_ref;
      CREATE INDEX dead_letter_checked ON dead_letter (checked_at) WHERE state = 'open';
      ALTER TABLE dead_letter DROP COLUMN group_key, DROP COLUMN age_from, DROP COLUMN assignee, DROP COLUMN schema_id`);
  }
}
