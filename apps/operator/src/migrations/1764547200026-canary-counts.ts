import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `replay_batch.why_counts`: of what a paused batch waits for a word about, how many items there were of each kind. `canary_vouched_counts`: the
 * same, as it was when somebody gave that word; it covers no more than that.
 */
const ddl = `
ALTER TABLE replay_batch ADD COLUMN why_counts jsonb, ADD COLUMN canary_vouched_counts jsonb;
`;

export class CanaryCounts1764547200026 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ddl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE replay_batch DROP COLUMN canary_vouched_counts, DROP COLUMN why_counts');
  }
}
