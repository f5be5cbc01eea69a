import type { MigrationInterface, QueryRunner } from 'typeorm';
import { comparedDdl, comparedDdlDown } from '#delivery';

export class Compared1764547200003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(comparedDdl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(comparedDdlDown);
  }
}
