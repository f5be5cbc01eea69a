import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Leads that belong to nobody, each once: somebody was asked to find the owner, whatever became of the message. */
export class OwnerlessLeads1764547200010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE TABLE ownerless_lead (
      event_id uuid PRIMARY KEY,
      destination text NOT NULL,
      lead_ref text NOT NULL,
      submitted_at timestamptz NOT NULL,
      deadline_at timestamptz NOT NULL,
      event bytea NOT NULL,
      traceparent text,
      noted_at timestamptz NOT NULL DEFAULT clock_now()
    )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE ownerless_lead');
  }
}
