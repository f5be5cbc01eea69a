import { deliveryDatabaseSettings, type Sweeper } from '#delivery';
import { type Database, openDatabase, type Tx } from '#runtime';
import { sweeperOf, sweptTarget } from '../../support/sweep-rig.js';
import type { WriterWorld } from '../crm-writer/writer-world.js';
import { median } from '../report.js';

/** As many as one sweep takes: it then says that there may be more, and does so only where no other process was sweeping. */
export const overdueRows = 200;
/** Unknown to the world's own crm-writer, whose sweeper leaves its rows alone. */
const destination = 'overdue';

const insert = `
  INSERT INTO crm_writer.delivery (event_id, destination, state, next_attempt_at, submitted_at, deadline_at, claimed_at, updated_at, test, lead_ref,
    operation_keys, record_key, event)
  SELECT id, $1, 'waiting', now - interval '1 minute', now, now + interval '4 hours', now, now, false, 'L-' || upper(substr(md5(id::text), 1, 16)),
    ARRAY[id || ':' || $1 || ':lead'], convert_to(md5(id::text), 'UTF8'), decode(repeat(md5(id::text), 30), 'hex')
  FROM (SELECT gen_random_uuid() AS id, now() AS now FROM generate_series(1, $2::int)) AS made`;

class Undone extends Error {}

/** Undoes each transaction when it has done all its work, so that every sweep meets the same rows and nothing is announced. */
function undoing(db: Database): Database {
  return {
    ...db,
    transaction: async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
      let result: { value: T } | undefined;
      const undone = db.transaction(async (tx) => {
        result = { value: await work(tx) };
        throw new Undone();
      });
      await undone.catch((error: unknown) => {
        if (!(error instanceof Undone)) throw error;
      });
      if (result === undefined) throw new Error('the transaction was never begun');
      return result.value;
    },
  };
}

/** Times sweeps over the tables of a world, each with as many overdue deliveries as a sweep takes. */
export class SweepTimer {
  private constructor(
    private readonly world: WriterWorld,
    private readonly db: Database,
    private readonly sweeper: Sweeper,
  ) {}

  static async open(world: WriterWorld): Promise<SweepTimer> {
    const db = await openDatabase({
      url: world.databaseUrl,
      role: 'ld_crm_writer',
      schema: 'crm_writer',
      applicationName: 'bench-sweeper',
      settings: deliveryDatabaseSettings,
    });
    const sweeper = sweeperOf(undoing(db), sweptTarget({ name: destination }));
    return new SweepTimer(world, db, sweeper);
  }

  /** Milliseconds of a sweep: the middle one of several. */
  async time(sweeps: number): Promise<number> {
    await this.world.sql(insert, [destination, overdueRows]);
    const samples: number[] = [];
    while (samples.length < sweeps) {
      const begun = performance.now();
      if (await this.sweeper.sweep()) samples.push(performance.now() - begun);
    }
    await this.world.sql('DELETE FROM crm_writer.delivery WHERE destination = $1', [destination]);
    return median(samples);
  }

  close(): Promise<void> {
    return this.db.close();
  }
}
