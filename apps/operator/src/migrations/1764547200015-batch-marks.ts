import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * - `replay_item.history_due_at`: it has ended, and its letter does not have the calls of it yet; asked for from then on.
 * - `replay_batch.canary_vouched_for`: what somebody vouched for the canary against. It says nothing about anything else.
 * - `replay_batch_alone`: how much a person has approved alone is counted with each approval.
 */
const ddl = `
ALTER TABLE replay_item ADD COLUMN history_due_at timestamptz;
CREATE INDEX replay_item_history_due ON replay_item (history_due_at) WHERE history_due_at IS NOT NULL;
ALTER TABLE replay_batch ADD COLUMN canary_vouched_for text;
CREATE INDEX replay_batch_alone ON replay_batch (deadline_at) WHERE policy = 'single_operator';
`;

export class BatchMarks1764547200015 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ddl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX replay_batch_alone, replay_item_history_due;
      ALTER TABLE replay_batch DROP COLUMN canary_vouched_for;
      ALTER TABLE replay_item DROP COLUMN history_due_at`);
  }
}
