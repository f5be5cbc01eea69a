import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * - The same two keys of a person's addresses that a lead is found by (`lead.email_key`, `lead.phone_key`) stand beside what is kept of the person:
 *   the vault outlives the lead, and a refused record has no lead. What belongs to a person is so found for as long as it is kept.
 * - `pending_revision`: the corrected fields of a lead, sealed, until a second person approves them. `revision` is what they become.
 */
const statements = [
  'alter table vault add column email_key bigint, add column phone_key bigint',
  'update vault set email_key = lead.email_key, phone_key = lead.phone_key from lead where lead.lead_ref = vault.lead_ref',
  'create index vault_email on vault (email_key) where email_key is not null',
  'create index vault_phone on vault (phone_key) where phone_key is not null',
  'alter table rejected add column email_key bigint, add column phone_key bigint',
  'create index rejected_email on rejected (email_key) where email_key is not null',
  'create index rejected_phone on rejected (phone_key) where phone_key is not null',
  'create index rejected_event on rejected (event_id) where event_id is not null',
  `create table pending_revision (
    correction_id uuid primary key,
    lead_ref text not null,
    revision integer not null,
    key_id text not null,
    wrapped_key bytea not null,
    sealed bytea not null,
    email_key bigint,
    phone_key bigint,
    delete_after timestamptz not null
  )`,
  'create index pending_revision_lead on pending_revision (lead_ref)',
];

export class EraseAndCorrect1764460800003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table pending_revision');
    await runner.query('drop index rejected_email, rejected_phone, rejected_event, vault_email, vault_phone');
    await runner.query('alter table rejected drop column email_key, drop column phone_key');
    await runner.query('alter table vault drop column email_key, drop column phone_key');
  }
}
