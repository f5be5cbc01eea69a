import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * - `replay_item`: what became of each approved item, once. `event_id`: of a lead, or the id of a refused record. `outcome`: `done` (routed, or
 *   accepted), `failed` (decided once more, as before), `closed` (never to be applied). `ref`: the event id that it came to.
 * - `rejected.accepted_as`: the lead that a refused record became in the end. `attempts`: how often it was decided on again.
 */
const statements = [
  `create table replay_item (
    item_id uuid primary key,
    event_id uuid not null,
    destination text not null,
    outcome text not null,
    class text,
    code text,
    ref uuid,
    decided_at timestamptz not null default clock_now()
  )`,
  'create index replay_item_event on replay_item (event_id)',
  'alter table rejected add column accepted_as uuid, add column attempts integer not null default 0',
];

export class ReplayItems1764547200002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table rejected drop column accepted_as, drop column attempts');
    await runner.query('drop table replay_item');
  }
}
