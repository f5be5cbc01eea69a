import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Letters of refused records are named like deliveries, by the record's own id, so that they can be approved. Their identity stays. */
const sql = `
UPDATE dead_letter SET event_id = substr(reference, 10)::uuid, destination = 'rejected'
WHERE service = 'intake' AND event_id IS NULL AND destination IS NULL
  AND reference ~ '^rejected:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'`;

export class RefusedRecords1764547200010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(sql);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `UPDATE dead_letter SET event_id = NULL, destination = NULL WHERE service = 'intake' AND destination = 'rejected' AND reference LIKE 'rejected:%'`,
    );
  }
}
