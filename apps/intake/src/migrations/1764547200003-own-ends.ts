import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What ended here without ever having been claimed is held against its dead letters, a page at a time: few rows of many. */
export class OwnEnds1764547200003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create index delivery_own_ends on delivery (event_id, destination) where state = 'dead' and claimed_at is null`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index delivery_own_ends');
  }
}
