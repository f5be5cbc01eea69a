import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Tells on a channel what has changed, so that whoever looks at it can look again. Only what a person sees is told: not that a row was looked
 * after. A transaction tells a thing once, however many of its rows it changed.
 */
const ddl = `
CREATE FUNCTION tell_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('ld_operator_changes', TG_ARGV[0]);
  RETURN NULL;
END $$;
CREATE TRIGGER told_new AFTER INSERT ON dead_letter FOR EACH STATEMENT EXECUTE FUNCTION tell_change('dead-letters');
CREATE TRIGGER told_change AFTER UPDATE ON dead_letter FOR EACH ROW
  WHEN ((OLD.state, OLD.assignee, OLD.disposition, OLD.owner) IS DISTINCT FROM (NEW.state, NEW.assignee, NEW.disposition, NEW.owner))
  EXECUTE FUNCTION tell_change('dead-letters');
CREATE TRIGGER told_new AFTER INSERT ON letter_note FOR EACH STATEMENT EXECUTE FUNCTION tell_change('dead-letters');
CREATE TRIGGER told_new AFTER INSERT ON replay_batch FOR EACH STATEMENT EXECUTE FUNCTION tell_change('batches');
CREATE TRIGGER told_change AFTER UPDATE ON replay_batch FOR EACH ROW
  WHEN ((OLD.state, OLD.hash, OLD.why, OLD.canary_lookups) IS DISTINCT FROM (NEW.state, NEW.hash, NEW.why, NEW.canary_lookups))
  EXECUTE FUNCTION tell_change('batches');
CREATE TRIGGER told_change AFTER UPDATE ON replay_item FOR EACH ROW
  WHEN ((OLD.state, OLD.sent_at, OLD.found) IS DISTINCT FROM (NEW.state, NEW.sent_at, NEW.found))
  EXECUTE FUNCTION tell_change('batches');
CREATE TRIGGER told_new AFTER INSERT ON erasure FOR EACH STATEMENT EXECUTE FUNCTION tell_change('erasures');
CREATE TRIGGER told_change AFTER UPDATE ON erasure FOR EACH ROW
  WHEN ((OLD.state, OLD.hash) IS DISTINCT FROM (NEW.state, NEW.hash)) EXECUTE FUNCTION tell_change('erasures');
CREATE TRIGGER told_change AFTER UPDATE OF done_at ON erasure_task FOR EACH STATEMENT EXECUTE FUNCTION tell_change('erasures');
CREATE TRIGGER told_new AFTER INSERT ON correction FOR EACH STATEMENT EXECUTE FUNCTION tell_change('corrections');
CREATE TRIGGER told_change AFTER UPDATE OF state ON correction FOR EACH ROW
  WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION tell_change('corrections');
`;

export class Live1764460800005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ddl);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER told_new ON dead_letter; DROP TRIGGER told_change ON dead_letter; DROP TRIGGER told_new ON letter_note;
      DROP TRIGGER told_new ON replay_batch; DROP TRIGGER told_change ON replay_batch; DROP TRIGGER told_change ON replay_item;
      DROP TRIGGER told_new ON erasure; DROP TRIGGER told_change ON erasure; DROP TRIGGER told_change ON erasure_task;
      DROP TRIGGER told_new ON correction; DROP TRIGGER told_change ON correction;
      DROP FUNCTION tell_change`);
  }
}
