import type { MigrationInterface, QueryRunner } from 'typeorm';
import { outboxDdl, schemaIdsDdl } from '#messaging';

const statements = [
  // Keyed, so that one key is one lead for 400 days. Narrow and unpartitioned: every insert looks here.
  `create table intake_key (
    organization text not null,
    source text not null,
    external_ref text not null,
    event_id uuid not null,
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
    primary key (lead_ref, revision)
  )`,
  // What intake knows of each delivery: its own decision at first, then what the owner announced. announce_at: when an unclaimed one is due again.
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
    announce_at timestamptz not null,
    primary key (event_id, destination)
  )`,
  `create index delivery_unclaimed on delivery (announce_at) where state = 'accepted' and claimed_at is null`,
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
];

export class CreateIntake1764374400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    await runner.query(outboxDdl);
    await runner.query(schemaIdsDdl);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['rejected', 'delivery', 'vault', 'lead', 'intake_key', 'outbox', 'schema_id']) {
      await runner.query(`drop table if exists ${table}`);
    }
  }
}
