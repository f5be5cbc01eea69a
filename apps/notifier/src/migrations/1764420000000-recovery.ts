import type { MigrationInterface, QueryRunner } from 'typeorm';
import { recoveryDdl, recoveryDdlDown } from '#delivery';

export class Recovery1764420000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(recoveryDdl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(recoveryDdlDown);
  }
}
