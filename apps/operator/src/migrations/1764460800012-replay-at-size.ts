import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * - `replay_item_canary`: the runner counts and reads the canary of a batch without the rest of it.
 * - `replay_batch.counts`: of an ended batch none of whose items is open: what its items came to. They are not counted again each time
 *   somebody looks at the list, and stay known when items go with their letters.
 */
const ddl = `
CREATE INDEX replay_item_canary ON replay_item (batch_id, position) WHERE canary;
ALTER TABLE replay_batch ADD COLUMN counts jsonb;
CREATE INDEX replay_batch_uncounted ON replay_batch (ended_at) WHERE counts IS NULL AND ended_at IS NOT NULL;
`;

export class ReplayAtSize1764460800012 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ddl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX replay_item_canary, replay_batch_uncounted; ALTER TABLE replay_batch DROP COLUMN counts');
  }
}
