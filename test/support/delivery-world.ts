import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { createDestinationControl, type DestinationControl, type DestinationPolicy } from '#delivery';
import { createLogger, type Database } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import {
  openDeliveryDatabase,
  RigCrm,
  type RigEvent,
  type RigProcess,
  type RigProcessOptions,
  type RigReceived,
  startProcess,
  until,
  wakeUps,
} from './delivery-rig.js';
import { sweeperOf, sweptTarget } from './sweep-rig.js';

export interface OperationRow {
  operation_key: string;
  state: string;
  destination_ref: string | null;
  attempts: number;
  code: string | null;
  class: string | null;
}

export interface AttemptRow {
  outcome: string;
  late: boolean;
  number: number;
  code: string | null;
  class: string | null;
  status: number | null;
}

interface OutboxItem {
  key: Buffer;
  value: Buffer;
  headers: Record<string, string>;
}

/** A database, a destination and the processes of one spec: everything fresh for each test. */
export class DeliveryWorld {
  private database?: TestDatabase;
  private opened?: Database;
  private readonly processes: RigProcess[] = [];
  private readonly controls: DestinationControl[] = [];
  crm = new RigCrm();

  get db(): Database {
    if (this.opened === undefined) throw new Error('the database is opened before all tests');
    return this.opened;
  }

  async open(name: string): Promise<void> {
    this.database = await testDatabase(name);
    this.opened = await openDeliveryDatabase(this.database.url);
  }

  async close(): Promise<void> {
    await this.opened?.close();
    await this.database?.drop();
  }

  start(options: Partial<RigProcessOptions> = {}): RigProcess {
    const process = startProcess({ db: this.db, crm: this.crm, ...options });
    this.processes.push(process);
    return process;
  }

  /** What one process knows of the destination that all of them share. */
  async shared(policy: DestinationPolicy): Promise<DestinationControl> {
    const control = createDestinationControl({ db: this.db, destination: 'rig', policy, logger: createLogger('rig', 'silent') });
    this.controls.push(control);
    await control.start();
    return control;
  }

  async clear(): Promise<void> {
    const alive = this.processes.splice(0).filter(({ db }) => !db.dead);
    await Promise.all(alive.map(({ engine }) => engine.stop(1_000)));
    for (const table of ['delivery', 'operation', 'attempt', 'outbox']) await this.db.sql(`rig.clear.${table}`, `DELETE FROM ${table}`, []);
  }

  /** Deliveries by state. */
  async states(): Promise<Record<string, number>> {
    const rows = await this.db.sql<{ state: string; count: number }>(
      'rig.states',
      'SELECT state, count(*)::int AS count FROM delivery GROUP BY state',
      [],
    );
    return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
  }

  async stateOf(event: RigEvent): Promise<string | undefined> {
    const [row] = await this.db.sql<{ state: string }>('rig.state', 'SELECT state FROM delivery WHERE event_id = $1', [event.id]);
    return row?.state;
  }

  operationsOf(event: RigEvent): Promise<OperationRow[]> {
    return this.db.sql('rig.operations', 'SELECT * FROM operation WHERE event_id = $1 ORDER BY operation_key', [event.id]);
  }

  /** The calls of one event, or of all, in their order. */
  attempts(event?: RigEvent): Promise<AttemptRow[]> {
    return this.db.sql(
      'rig.attempts',
      `SELECT outcome, late, number, code, class, status FROM attempt WHERE operation_key LIKE $1 || '%' ORDER BY started_at`,
      [event?.id ?? ''],
    );
  }

  outbox(topic: string): Promise<OutboxItem[]> {
    return this.db.sql('rig.outbox', 'SELECT key, value, headers FROM outbox WHERE topic = $1', [topic]);
  }

  /** The states that were announced. */
  async announced(): Promise<string[]> {
    return (await this.outbox('resolved')).map(({ value }) => value.toString());
  }

  settled(all: readonly { receipt: { settled: boolean } }[]): Promise<void> {
    return until('all receipts are settled', () => all.every((one) => one.receipt.settled));
  }

  /** One round of the sweeper. */
  async sweep(): Promise<void> {
    await sweeperOf(this.db, sweptTarget({ nativeIdempotency: this.crm.native })).sweep();
  }

  /** Runs the sweeper until rows were woken, as leases run out in their time. */
  async sweptWakeUps(count: number): Promise<RigReceived[]> {
    const woken: RigReceived[] = [];
    await until(`${count} deliveries are woken`, async () => {
      await this.sweep();
      woken.push(...(await wakeUps(this.db)));
      return woken.length >= count;
    });
    return woken;
  }
}

/** A world with the hooks of a spec around it. */
export function deliveryWorld(name: string): DeliveryWorld {
  const world = new DeliveryWorld();
  beforeAll(() => world.open(name));
  afterAll(() => world.close());
  beforeEach(() => {
    world.crm = new RigCrm();
  });
  afterEach(() => world.clear());
  return world;
}
