import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Drafts whose time is over are looked for every few seconds; nearly all batches have been approved or have ended. */
export class UnapprovedBatches1764547200014 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE INDEX replay_batch_unapproved ON replay_batch (created_at) WHERE state IN ('draft', 'checked')`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX replay_batch_unapproved');
  }
}
