import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What was missed is read by its events, whatever kinds of records there are: a page at a time, and those of a page that is compared. */
export class LooksOfAnEvent1764547200001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX look_event ON look (destination, event_id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX look_event');
  }
}
