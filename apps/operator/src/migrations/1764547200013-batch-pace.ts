import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `replay_batch.paced_to`: what fell due until then at the rate of the batch has gone out, so that whoever takes it over knows what is owed.
 * Null: its rate counts from the next item on.
 */
export class BatchPace1764547200013 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE replay_batch ADD COLUMN paced_to timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE replay_batch DROP COLUMN paced_to');
  }
}
