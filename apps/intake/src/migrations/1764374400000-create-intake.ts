import type { MigrationInterface, QueryRunner } from 'typeorm';
import { outboxDdl, schemaIdsDdl } from '#messaging';

const statements = [
  // Keyed, so that one key is one lead for 400 days. Narrow and unpartitioned: every insert looks here.
  `create table intake_key (
    organization text not null,
    source text not null,
    external_ref text not null,
    event_id uuid not null,
    lead_ref text not null,
    fingerprint text not null,
    accepted_at timestamptz not null,
    primary key (organization, source, external_ref)
  )`,
  `create table lead (
    event_id uuid primary key,
    lead_ref text not null,
    organization text not null,
    source text not null,
    form text,
    campaign text,
    supersedes_ref text,
    submitted_at timestamptz not null,
    accepted_at timestamptz not null,
    deadline_at timestamptz not null,
    policy text not null,
    owner text,
    test boolean not null,
    record_key bytea not null,
    event bytea not null,
    traceparent text,
    tracestate text
  )`,
  `create table vault (
    lead_ref text not null,
    revision integer not null,
    key_id text not null,
    wrapped_key bytea not null,
    sealed bytea not null,
    delete_after timestamptz not null,
    consent_withdrawn_at timestamptz,
    primary key (lead_ref, revision)
  )`,
  // What intake knows of each delivery: its own decision at first, then what the owner announced. announced_at: the last time; announce_at: when
  // an unclaimed one is due again.
  `create table delivery (
    event_id uuid not null,
    destination text not null,
    state text not null,
    class text,
    code text,
    owner text,
    generation integer not null default 1,
    operations jsonb not null default '[]',
    deadline_at timestamptz not null,
    as_of timestamptz not null,
    claimed_at timestamptz,
    announcements smallint not null default 1,
    announced_at timestamptz not null,
    announce_at timestamptz not null,
    primary key (event_id, destination)
  )`,
  `create index delivery_unclaimed on delivery (destination, announce_at) where state = 'accepted' and claimed_at is null`,
  `create index delivery_unclaimed_deadline on delivery (deadline_at) where state = 'accepted' and claimed_at is null`,
  // The last that intake heard of a lead's notifications, each {channel, template, state}. Their owner knows better.
  `create table told (event_id uuid primary key, notifications jsonb not null, as_of timestamptz not null)`,
  // Why leads of a destination may rightly be unclaimed: paused_at: it was last seen to take nothing ('*': all of them); unread_since: age of the
  // oldest record that its group has still to read, as of read_at.
  `create table destination_pause (
    destination text primary key,
    paused_at timestamptz not null default '-infinity',
    unread_since timestamptz,
    read_at timestamptz
  )`,
  // Where the record lay, with its time: a topic made anew counts its offsets from 0 again.
  `create table rejected (
    rejected_id uuid primary key,
    organization text,
    source text,
    external_ref text,
    class text not null,
    code text not null,
    errors jsonb not null,
    event_id uuid,
    topic text not null,
    partition integer not null,
    record_offset bigint not null,
    record_at timestamptz not null,
    rejected_at timestamptz not null,
    key_id text not null,
    wrapped_key bytea not null,
    sealed bytea not null,
    delete_after timestamptz not null,
    unique (topic, partition, record_offset, record_at)
  )`,
  'create index rejected_external on rejected (organization, source, external_ref) where external_ref is not null',
  // For the purge alone. Rows come in the order of time, so that a summary of each range of pages is enough and costs an insert nothing.
  'create index intake_key_age on intake_key using brin (accepted_at) with (autosummarize = on)',
  'create index vault_age on vault using brin (delete_after) with (autosummarize = on)',
  'create index rejected_age on rejected using brin (delete_after) with (autosummarize = on)',
];

export class CreateIntake1764374400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    await runner.query(outboxDdl);
    await runner.query(schemaIdsDdl);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of [
      'rejected',
      'destination_pause',
      'delivery',
      'told',
      'vault',
      'lead',
      'intake_key',
      'outbox',
      'outbox_parked',
      'schema_id',
    ]) {
      await runner.query(`drop table if exists ${table}`);
    }
  }
}
