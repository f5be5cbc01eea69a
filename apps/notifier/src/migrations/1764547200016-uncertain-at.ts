import type { MigrationInterface, QueryRunner } from 'typeorm';
import { uncertainDdl, uncertainDdlDown } from '#delivery';

export class UncertainAt1764547200016 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(uncertainDdl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(uncertainDdlDown);
  }
}
