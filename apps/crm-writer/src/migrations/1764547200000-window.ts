import type { MigrationInterface, QueryRunner } from 'typeorm';
import { windowDdl, windowDdlDown } from '#delivery';

export class Window1764547200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(windowDdl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(windowDdlDown);
  }
}
