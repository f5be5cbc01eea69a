import type { MigrationInterface, QueryRunner } from 'typeorm';
import { testLeadsDdl, testLeadsDdlDown } from '#delivery';

export class CountTestLeads1764547200018 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(testLeadsDdl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(testLeadsDdlDown);
  }
}
