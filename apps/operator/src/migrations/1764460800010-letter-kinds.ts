import type { MigrationInterface, QueryRunner } from 'typeorm';

const kindColumns = [
  'group_key uuid NOT NULL',
  'class text NOT NULL',
  'destination text',
  'code text',
  'schema_id integer',
  'organization text',
  'owner text NOT NULL',
  'disposition text NOT NULL',
  'assignee text',
  'test boolean NOT NULL',
];
const kindNames = kindColumns.map((column) => column.split(' ')[0]).join(', ');

/** The same for letters that are the same in everything that is filtered or grouped by. */
const identity = `md5(concat_ws(E'\\x1f', group_key::text, coalesce('o' || organization, ''), owner, disposition, coalesce('a' || assignee, ''),
  test::text))::uuid`;

/**
 * `open_letter_times` keeps of each open letter its times and ids alone; all that letters have in common stands once in `letter_kind`. Groups and
 * counts read an eighth of what they read before: numbers of fixed width. A kind is never changed, so that those who write letters do not
 * wait for each other; kinds without a letter are taken away by the purge. An operator of the release before is at work until it is replaced,
 * and finds its `open_letter` as it was: a view, for a later migration to drop.
 */
const ddl = `
DROP TABLE open_letter;
CREATE TABLE letter_kind (
  kind_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  identity uuid NOT NULL UNIQUE,
  ${kindColumns.join(',\n  ')}
);
CREATE INDEX letter_kind_group ON letter_kind (group_key);
CREATE TABLE open_letter_times (
  kind_id bigint NOT NULL,
  dead_at timestamptz NOT NULL,
  respond_by timestamptz NOT NULL,
  age_from timestamptz NOT NULL,
  dead_letter_id uuid PRIMARY KEY,
  event_id uuid
);
CREATE INDEX open_letter_times_kind ON open_letter_times (kind_id, dead_at);
CREATE OR REPLACE FUNCTION keep_open_letters() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM open_letter_times o USING before b WHERE o.dead_letter_id = b.dead_letter_id;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    -- The purge of kinds waits for it.
    LOCK TABLE letter_kind IN ROW EXCLUSIVE MODE;
    INSERT INTO letter_kind (identity, ${kindNames})
    SELECT DISTINCT ON (identity) identity, ${kindNames} FROM (SELECT ${identity} AS identity, ${kindNames} FROM after WHERE state = 'open') kind
    WHERE NOT EXISTS (SELECT FROM letter_kind k WHERE k.identity = kind.identity) ON CONFLICT (identity) DO NOTHING;
    INSERT INTO open_letter_times (kind_id, dead_at, respond_by, age_from, dead_letter_id, event_id)
    SELECT k.kind_id, a.dead_at, a.respond_by, a.age_from, a.dead_letter_id, a.event_id
    FROM (SELECT ${identity} AS identity, dead_at, respond_by, age_from, dead_letter_id, event_id FROM after WHERE state = 'open') a
      JOIN letter_kind k USING (identity);
  END IF;
  RETURN NULL;
END $$;
INSERT INTO letter_kind (identity, ${kindNames})
  SELECT DISTINCT ON (identity) identity, ${kindNames} FROM (SELECT ${identity} AS identity, ${kindNames} FROM dead_letter WHERE state = 'open') kind;
INSERT INTO open_letter_times (kind_id, dead_at, respond_by, age_from, dead_letter_id, event_id)
  SELECT k.kind_id, d.dead_at, d.respond_by, d.age_from, d.dead_letter_id, d.event_id
  FROM (SELECT ${identity} AS identity, dead_at, respond_by, age_from, dead_letter_id, event_id FROM dead_letter WHERE state = 'open') d
    JOIN letter_kind k USING (identity);
CREATE VIEW open_letter AS SELECT dead_letter_id, event_id, ${kindNames}, age_from, dead_at, respond_by
  FROM open_letter_times JOIN letter_kind USING (kind_id);
`;

/** As it was: each open letter with all of it. */
const before = `
DROP VIEW open_letter;
DROP TABLE open_letter_times, letter_kind;
CREATE TABLE open_letter (
  dead_letter_id uuid NOT NULL PRIMARY KEY, event_id uuid, ${kindColumns.join(', ')},
  age_from timestamptz NOT NULL, dead_at timestamptz NOT NULL, respond_by timestamptz NOT NULL
);
CREATE INDEX open_letter_group ON open_letter (group_key, dead_at);
CREATE OR REPLACE FUNCTION keep_open_letters() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM open_letter o USING before b WHERE o.dead_letter_id = b.dead_letter_id;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO open_letter (dead_letter_id, event_id, ${kindNames}, age_from, dead_at, respond_by)
    SELECT dead_letter_id, event_id, ${kindNames}, age_from, dead_at, respond_by FROM after WHERE state = 'open';
  END IF;
  RETURN NULL;
END $$;
INSERT INTO open_letter (dead_letter_id, event_id, ${kindNames}, age_from, dead_at, respond_by)
SELECT dead_letter_id, event_id, ${kindNames}, age_from, dead_at, respond_by FROM dead_letter WHERE state = 'open';
`;

export class LetterKinds1764460800010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ddl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(before);
  }
}
