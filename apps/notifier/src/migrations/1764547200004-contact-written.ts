import type { MigrationInterface, QueryRunner } from 'typeorm';
import { contactWrittenDdl, contactWrittenDdlDown } from '#delivery';

export class ContactWritten1764547200004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(contactWrittenDdl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(contactWrittenDdlDown);
  }
}
