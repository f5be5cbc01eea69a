import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When a delivery of before was announced last: the time at which it is due again is that time and the wait that belongs to the count. */
const announcedAt = `announce_at - least(interval '5 minutes' * 2 ^ least(announcements - 1, 7), interval '6 hours')`;

/**
 * - `intake_key.lead_ref`: a key outlives its lead, and a repeat is still answered with its reference.
 * - `delivery.announced_at`: the last time; `announce_at` says when an unclaimed one is due again.
 * - `told`: the last that intake heard of a lead's notifications, each {channel, template, state}. Their owner knows better.
 * - `destination_pause`: why leads of a destination may rightly be unclaimed. `paused_at`: it was last seen to take nothing (`*`: all of them);
 *   `unread_since`: age of the oldest record that its group has still to read, as of `read_at`.
 * - The indexes by age are for the purge alone. Rows come in the order of time, so that a summary of each range of pages is enough and costs an
 *   insert nothing.
 *
 * Whatever of it is there already stays as it is: some databases were made with it.
 */
const statements = [
  'alter table vault add column if not exists consent_withdrawn_at timestamptz',
  'alter table intake_key add column if not exists lead_ref text',
  'update intake_key k set lead_ref = l.lead_ref from lead l where l.event_id = k.event_id and k.lead_ref is null',
  'alter table intake_key alter column lead_ref set not null',
  'alter table delivery add column if not exists announced_at timestamptz',
  `update delivery set announced_at = ${announcedAt} where announced_at is null`,
  'alter table delivery alter column announced_at set not null',
  'drop index delivery_unclaimed',
  `create index delivery_unclaimed on delivery (destination, announce_at) where state = 'accepted' and claimed_at is null`,
  `create index if not exists delivery_unclaimed_deadline on delivery (deadline_at) where state = 'accepted' and claimed_at is null`,
  'create table if not exists told (event_id uuid primary key, notifications jsonb not null, as_of timestamptz not null)',
  `create table if not exists destination_pause (
    destination text primary key,
    paused_at timestamptz not null default '-infinity',
    unread_since timestamptz,
    read_at timestamptz
  )`,
  'create index if not exists intake_key_age on intake_key using brin (accepted_at) with (autosummarize = on)',
  'create index if not exists vault_age on vault using brin (delete_after) with (autosummarize = on)',
  'create index if not exists rejected_age on rejected using brin (delete_after) with (autosummarize = on)',
];

export class Recovery1764420000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table destination_pause, told');
    await runner.query('drop index intake_key_age, vault_age, rejected_age, delivery_unclaimed_deadline, delivery_unclaimed');
    await runner.query(`create index delivery_unclaimed on delivery (announce_at) where state = 'accepted' and claimed_at is null`);
    await runner.query('alter table delivery drop column announced_at');
    await runner.query('alter table intake_key drop column lead_ref');
    await runner.query('alter table vault drop column consent_withdrawn_at');
  }
}
