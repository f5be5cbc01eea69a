import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How much differs at destinations, as last counted: the overview answers also while the reconciler does not. */
const ddl = `
CREATE TABLE reconciliation_figures (
  one_row boolean PRIMARY KEY CHECK (one_row),
  began_at timestamptz NOT NULL,
  figures jsonb
);
`;

export class ReconciliationFigures1764547200011 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ddl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE reconciliation_figures');
  }
}
