import type { MigrationInterface, QueryRunner } from 'typeorm';
import { callTimesDdl, callTimesDdlDown } from '#delivery';

export class CallTimes1764460800005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(callTimesDdl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(callTimesDdlDown);
  }
}
