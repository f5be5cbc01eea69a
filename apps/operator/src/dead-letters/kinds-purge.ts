import { type Database, DatabaseUnavailable } from '#runtime';

const everyMs = 3_600_000;
/** Whoever stores letters waits no longer than this for a purge that cannot begin. */
const timeoutSql = "SELECT set_config('lock_timeout', '500ms', true)";
const lockSql = 'LOCK TABLE letter_kind IN SHARE ROW EXCLUSIVE MODE';
const purgeSql = `
DELETE FROM letter_kind WHERE kind_id IN (
  SELECT kind_id FROM letter_kind k WHERE NOT EXISTS (SELECT FROM open_letter_times o WHERE o.kind_id = k.kind_id) LIMIT 10000)
RETURNING kind_id`;
const lockNotAvailable = '55P03';

/**
 * Takes away what no open letter refers to, once an hour: of every notification there is another destination. Nobody writes letters meanwhile,
 * so that no letter refers to what goes; where somebody is writing for long, another hour will do.
 */
export function kindsPurge(db: Database): () => Promise<void> {
  let lastAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() - lastAt < everyMs) return;
    lastAt = performance.now();
    await purgeKinds(db);
  };
}

/** Gives the number of kinds that are gone. */
export function purgeKinds(db: Database): Promise<number> {
  return db
    .transaction(async (tx) => {
      await tx.sql('operator.lock_timeout', timeoutSql, []);
      await tx.sql('operator.lock_kinds', lockSql, []);
      return (await tx.sql('operator.purge_kinds', purgeSql, [])).length;
    })
    .catch((error: unknown) => {
      if (error instanceof DatabaseUnavailable && error.code === lockNotAvailable) return 0;
      throw error;
    });
}
