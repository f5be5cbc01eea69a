import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * email_key, phone_key: the first 64 bits of the person key of the e-mail address and of the phone number. Neither can be read from it. Leads are
 * found by the same keys in the vault, which a later migration adds.
 */
const statements = [
  'alter table lead add column email_key bigint, add column phone_key bigint',
  'create index lead_reference on lead using hash (lead_ref)',
  'create index lead_trace on lead using hash (substr(traceparent, 4, 32))',
  'create index lead_supersedes on lead (supersedes_ref) where supersedes_ref is not null',
];

export class SearchLeads1764460800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index lead_reference, lead_trace, lead_supersedes');
    await runner.query('alter table lead drop column email_key, drop column phone_key');
  }
}
