import type { MigrationInterface, QueryRunner } from 'typeorm';

/** `overview_balance.lease_until`: until then somebody is taking the balance and nobody else begins; null: nobody is. */
export class BalanceLease1764547200012 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE overview_balance ADD COLUMN lease_until timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE overview_balance DROP COLUMN lease_until');
  }
}
