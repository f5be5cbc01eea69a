import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who was shown a lead in the clear, and until when: what the limit per hour counts. Rows go after a day; the audit keeps what was done. */
const ddl = `
CREATE TABLE reveal_grant (
  grant_id uuid PRIMARY KEY,
  event_id uuid NOT NULL,
  person text NOT NULL,
  granted_at timestamptz NOT NULL,
  until timestamptz NOT NULL
);
CREATE INDEX reveal_grant_person ON reveal_grant (person, granted_at);
`;

export class Reveals1764460800004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ddl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE reveal_grant');
  }
}
