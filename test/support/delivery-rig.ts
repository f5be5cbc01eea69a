import { setTimeout as delay } from 'node:timers/promises';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import {
  type Admission,
  type AuthScope,
  type Contacts,
  callTimesDdl,
  comparedDdl,
  DeliveryEngine,
  type DestinationControl,
  deliveryDatabaseSettings,
  deliveryDdl,
  findDdl,
  type Mode,
  type Outcome,
  type ReplayGate,
  recoveryDdl,
  testLeadsDdl,
  uncertainDdl,
  type Vault,
  windowDdl,
} from '#delivery';
import { outboxDdl } from '#messaging';
import { createLogger, type Database, type Logger, migrateService, openDatabase, startTelemetry } from '#runtime';
import { type RigEvent, RigTarget, type RigTargetOptions } from './rig-crm.js';
import { type RigReceived, received } from './rig-records.js';

export { RigCrm, type RigEvent } from './rig-crm.js';
export { newEvents, RigReceipt, type RigReceived, received } from './rig-records.js';

class CreateRig1764374400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const ddl of [deliveryDdl, recoveryDdl, findDdl, callTimesDdl, windowDdl, comparedDdl, uncertainDdl, testLeadsDdl, outboxDdl])
      await runner.query(ddl);
  }

  async down(): Promise<void> {}
}

/** Tables of the delivery engine in a fresh database, through the role of a service. */
export async function openDeliveryDatabase(url: string): Promise<Database> {
  await migrateService({ url, service: 'crm-writer', migrations: [CreateRig1764374400000] });
  return openDatabase({
    url,
    role: 'ld_crm_writer',
    schema: 'crm_writer',
    applicationName: 'delivery-rig',
    settings: deliveryDatabaseSettings,
  });
}

type Statement = (name: string, run: () => Promise<unknown[]>) => Promise<unknown[]>;

/** A database whose statements can be cut, and which can die with its process: nothing it was asked ever answers again. */
export class MortalDatabase implements Database {
  readonly dataSource;
  dead = false;
  /** Decides about each statement, and about each transaction as one of that name; runs it by default. */
  intercept: Statement = (_name, run) => run();
  private closed = false;
  private readonly unanswered: ((error: Error) => void)[] = [];

  constructor(private readonly inner: Database) {
    this.dataSource = inner.dataSource;
  }

  async sql<R>(name: string, text: string, values: readonly unknown[]): Promise<R[]> {
    if (this.dead) return this.silence();
    const rows = (await this.intercept(name, () => this.inner.sql(name, text, values))) as R[];
    return this.dead ? this.silence() : rows;
  }

  async transaction<T>(fn: (tx: Database) => Promise<T>): Promise<T> {
    if (this.dead) return this.silence();
    const [result] = (await this.intercept('transaction', async () => [await this.inner.transaction((tx) => fn(tx as Database))])) as [T];
    return this.dead ? this.silence() : result;
  }

  die(): void {
    this.dead = true;
  }

  /** What a dead process still waited for fails by then, so that nothing of it is left. */
  close(): Promise<void> {
    this.closed = true;
    for (const fail of this.unanswered.splice(0)) fail(new Error('closed'));
    return this.inner.close();
  }

  private silence(): Promise<never> {
    return new Promise((_, fail) => (this.closed ? fail(new Error('closed')) : this.unanswered.push(fail)));
  }
}

type BlockReason = NonNullable<DestinationControl['reason']>;

/** A destination's state as a test sets it; it always flows unless told otherwise. */
export class RigControl implements DestinationControl {
  mode: Mode = 'flowing';
  reason?: BlockReason;
  /** Whom an `auth` outcome concerns. */
  scope: AuthScope = 'destination';
  readonly lookups = { admit: () => Promise.resolve(true), throttled: () => undefined };
  readonly reports: { operationKey: string; outcome: Outcome }[] = [];
  readonly retries: string[] = [];
  admitting: (call: { operationKey: string; retry: boolean }) => Admission = () => ({
    kind: this.mode === 'blocked' ? 'blocked' : 'go',
  });
  onReport?: (outcome: Outcome) => void;
  private readonly listeners: ((mode: Mode) => void)[] = [];

  constructor(public concurrency = Number.POSITIVE_INFINITY) {}

  limit(): number {
    return { flowing: this.concurrency, ramping: this.concurrency, probing: 1, blocked: 0 }[this.mode];
  }

  /** Blocked for `reason`, or, as 'unknown', because nobody knows how it stands. */
  turn(mode: Mode, reason: BlockReason | 'unknown' = 'failing'): void {
    this.mode = mode;
    this.reason = mode === 'blocked' && reason !== 'unknown' ? reason : undefined;
    for (const listener of this.listeners) listener(mode);
  }

  admit(call: { operationKey: string; retry: boolean }): Admission {
    if (call.retry) this.retries.push(call.operationKey);
    return this.admitting(call);
  }

  report(call: { operationKey: string; outcome: Outcome }): void {
    this.reports.push(call);
    this.onReport?.(call.outcome);
  }

  withdraw(): void {}

  isStale(): boolean {
    return false;
  }

  authScope(): Promise<AuthScope> {
    return Promise.resolve(this.scope);
  }

  onMode(listener: (mode: Mode) => void): void {
    this.listeners.push(listener);
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

/** A destination that always flows. */
export const openControl = (concurrency?: number): RigControl => new RigControl(concurrency);

export interface RigProcess {
  engine: DeliveryEngine<RigEvent>;
  /** Hands records to the engine, and again what it gives back. */
  take(records: readonly RigReceived[]): void;
  db: MortalDatabase;
  control: RigControl;
  paused: Set<string>;
  /** As kill -9: what it has asked of the database stays unanswered, nothing more is asked. */
  kill(): void;
}

export interface RigProcessOptions extends RigTargetOptions {
  db: Database;
  leaseMs?: number;
  vault?: Vault;
  control?: RigControl;
  /** In place of `control`: one that shares what it learns. */
  shared?: DestinationControl;
  contacts?: Contacts;
  replays?: ReplayGate;
  /** Default: a silent one. */
  logger?: Logger;
  /** Its own wake-ups come back to it, as through relay and tier. Default false: they stay in the outbox. */
  tiers?: boolean;
}

const rigTier = (tier: string): string => `main.rig.retry.${tier}`;

/** One process of a service: an engine over its own view of the database. */
export function startProcess(options: RigProcessOptions): RigProcess {
  const db = new MortalDatabase(options.db);
  const paused = new Set<string>();
  const target = new RigTarget(options);
  const control = options.control ?? openControl(target.concurrency);
  const relayWake = (): void => {
    if (options.tiers) void wakeUps(options.db).then((woken) => !db.dead && take(woken));
  };
  const engine = new DeliveryEngine<RigEvent>({
    db,
    target,
    destination: options.shared ?? control,
    vault: options.vault,
    contacts: options.contacts,
    replays: options.replays,
    group: 'rig-group',
    control: () => ({ pause: (reason) => void paused.add(reason), resume: (reason) => void paused.delete(reason) }),
    dlqTopic: 'dlq',
    wakeTopic: rigTier,
    relayWake,
    telemetry: startTelemetry({ service: 'rig', ratio: 1 }),
    logger: options.logger ?? createLogger('rig', 'silent'),
    leaseMs: options.leaseMs ?? 30_000,
  });
  const take = (records: readonly RigReceived[]): void => {
    for (const record of records) record.receipt.again = () => engine.take([record]);
    engine.take(records);
  };
  return { engine, take, db, control, paused, kill: () => db.die() };
}

/** The wake-ups in the outbox, as the records that relay and tier would hand on; before their time, so that the rows have to say so. */
export async function wakeUps(db: Database): Promise<RigReceived[]> {
  const rows = await db.sql<{ value: Buffer; headers: Record<string, string> }>(
    'rig.wake',
    `DELETE FROM outbox WHERE topic LIKE 'wake%' OR topic LIKE '%.retry.%' RETURNING value, headers`,
    [],
  );
  return rows.map(({ value, headers }) =>
    received(JSON.parse(value.toString()) as RigEvent, { topic: rigTier('15s'), traceparent: headers.traceparent, headers }),
  );
}

/** Waits until a condition holds; throws after 10 s. */
export async function until(what: string, condition: () => Promise<boolean> | boolean): Promise<void> {
  const end = performance.now() + 10_000;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`gave up waiting until ${what}`);
    await delay(10);
  }
}
