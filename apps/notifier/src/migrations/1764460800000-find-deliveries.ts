import type { MigrationInterface, QueryRunner } from 'typeorm';
import { findDdl, findDdlDown } from '#delivery';

export class FindDeliveries1764460800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(findDdl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(findDdlDown);
  }
}
