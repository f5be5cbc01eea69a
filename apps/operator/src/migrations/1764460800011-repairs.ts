import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Items that repair what differs at a destination: they have no dead letter. `repair`: what is to become of each operation. `told_as`: the state
 * that the reconciler was told last; while it is another than `state`, it is to be told.
 */
const ddl = `
ALTER TABLE replay_item
  ALTER COLUMN dead_letter_id DROP NOT NULL,
  ADD COLUMN discrepancy_ids uuid[],
  ADD COLUMN repair jsonb,
  ADD COLUMN told_as text,
  ADD CONSTRAINT replay_item_reason CHECK (dead_letter_id IS NOT NULL OR discrepancy_ids IS NOT NULL);
CREATE INDEX replay_item_discrepancies ON replay_item USING gin (discrepancy_ids) WHERE discrepancy_ids IS NOT NULL;
CREATE INDEX replay_item_untold ON replay_item (checked_at) WHERE discrepancy_ids IS NOT NULL AND told_as IS DISTINCT FROM state;
`;

export class Repairs1764460800011 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ddl);
  }

  /** Items without a letter are nothing before this. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DELETE FROM replay_item WHERE dead_letter_id IS NULL;
      DROP INDEX replay_item_discrepancies, replay_item_untold;
      ALTER TABLE replay_item DROP CONSTRAINT replay_item_reason, DROP COLUMN discrepancy_ids, DROP COLUMN repair, DROP COLUMN told_as,
        ALTER COLUMN dead_letter_id SET NOT NULL`);
  }
}
