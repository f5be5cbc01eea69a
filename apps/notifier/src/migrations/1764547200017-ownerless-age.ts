import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Those over their time are found without reading the others. */
export class OwnerlessAge1764547200017 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX ownerless_lead_noted ON ownerless_lead (noted_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX ownerless_lead_noted');
  }
}
