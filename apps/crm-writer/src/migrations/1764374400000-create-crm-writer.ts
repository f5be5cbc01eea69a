import type { MigrationInterface, QueryRunner } from 'typeorm';
import { deliveryDdl } from '#delivery';
import { outboxDdl, schemaIdsDdl } from '#messaging';

export class CreateCrmWriter1764374400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const ddl of [deliveryDdl, outboxDdl, schemaIdsDdl]) await runner.query(ddl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE delivery, operation, attempt, outbox, outbox_parked, schema_id');
  }
}
