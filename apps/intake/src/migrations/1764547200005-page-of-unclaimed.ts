import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `delivery.submitted_at`: of the lead, so that a page of what nobody has claimed is found by an index, however many wait for a destination that
 * nothing is sent to. A process of before does not write it: there `as_of` stands in, which is when such a delivery was accepted.
 */
const statements = [
  'alter table delivery add column submitted_at timestamptz',
  `update delivery d set submitted_at = l.submitted_at from lead l
  where l.event_id = d.event_id and d.state = 'accepted' and d.claimed_at is null`,
  `create index delivery_unclaimed_oldest on delivery (coalesce(submitted_at, as_of), event_id, destination collate "C")
  where state = 'accepted' and claimed_at is null`,
];

export class PageOfUnclaimed1764547200005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index delivery_unclaimed_oldest');
    await runner.query('alter table delivery drop column submitted_at');
  }
}
