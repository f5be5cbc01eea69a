import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The newest of what is kept under one address is found without reading all of it: a number may be everybody's. */
export class NewestOfAContact1764547200004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const kind of ['email', 'phone']) {
      await runner.query(`create index vault_${kind}_newest on vault (${kind}_key, delete_after) where ${kind}_key is not null`);
      await runner.query(`drop index vault_${kind}`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const kind of ['email', 'phone']) {
      await runner.query(`create index vault_${kind} on vault (${kind}_key) where ${kind}_key is not null`);
      await runner.query(`drop index vault_${kind}_newest`);
    }
  }
}
