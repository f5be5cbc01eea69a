import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `received`: what came in per source and day (UTC), and what became of it. A day is the sum of its slots: each connection counts in a row of its own,
 * so that no transaction waits for another. Leads and refusals of before are counted from their rows; what else came in before is unknown.
 */
const statements = [
  `create table received (
    day date not null,
    organization text not null,
    source text not null,
    slot smallint not null,
    received bigint not null default 0,
    accepted bigint not null default 0,
    repeats bigint not null default 0,
    conflicts bigint not null default 0,
    rejected bigint not null default 0,
    primary key (day, organization, source, slot)
  ) with (fillfactor = 50)`,
  `insert into received (day, organization, source, slot, received, accepted)
  select (accepted_at at time zone 'UTC')::date, organization, source, -1, count(*), count(*) from lead group by 1, 2, 3`,
  `insert into received as tally (day, organization, source, slot, received, conflicts, rejected)
  select (rejected_at at time zone 'UTC')::date, coalesce(organization, ''), coalesce(source, ''), -1, count(*),
    count(*) filter (where class = 'conflict'), count(*) filter (where class <> 'conflict')
  from rejected group by 1, 2, 3
  on conflict (day, organization, source, slot) do update set received = tally.received + excluded.received,
    conflicts = excluded.conflicts, rejected = excluded.rejected`,
];

export class CountReceived1764547200001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table received');
  }
}
