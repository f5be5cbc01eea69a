import { setTimeout as delay } from 'node:timers/promises';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { operationKey } from '#contracts';
import {
  DeliveryEngine,
  type DeliveryEngineOptions,
  deliveryDatabaseSettings,
  deliveryDdl,
  type Outcome,
  type PerformContext,
  type PlannedDelivery,
  type PlannedOperation,
  type ResolvedDelivery,
  Sweeper,
  type Target,
  type Vault,
} from '#delivery';
import { type ConsumedRecord, type OutboxRow, outboxDdl, type Receipt, type Received } from '#messaging';
import { createLogger, type Database, migrateService, newEventId, openDatabase, startTelemetry } from '#runtime';

/** The event of the rig: what a target needs, nothing more. */
export interface RigEvent {
  id: string;
  ref: string;
  deadlineMs: number;
}

class CreateRig1764374400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const ddl of [deliveryDdl, outboxDdl]) await runner.query(ddl);
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
  /** Decides about each statement; runs it by default. */
  intercept: Statement = (_name, run) => run();

  constructor(private readonly inner: Database) {
    this.dataSource = inner.dataSource;
  }

  async sql<R>(name: string, text: string, values: readonly unknown[]): Promise<R[]> {
    if (this.dead) return new Promise(() => {});
    const rows = (await this.intercept(name, () => this.inner.sql(name, text, values))) as R[];
    return this.dead ? new Promise(() => {}) : rows;
  }

  transaction<T>(fn: (tx: Database) => Promise<T>): Promise<T> {
    return this.dead ? new Promise(() => {}) : this.inner.transaction((tx) => fn(tx as Database));
  }

  die(): void {
    this.dead = true;
  }

  close(): Promise<void> {
    return this.inner.close();
  }
}

export interface Request {
  key: string;
  at: number;
  attemptId: string;
  context: PerformContext<RigEvent>;
}

/** A destination in memory: counts every request and every record it made of them. */
export class RigCrm {
  readonly requests: Request[] = [];
  /** One entry per effect, by operation key. */
  readonly records: { key: string; ref: string }[] = [];
  private readonly answers = new Map<string, string>();
  /** Answers a repeated key with the stored answer. */
  native = true;
  /** What happens to a request: by default it is executed and answered. */
  behave: (key: string, execute: () => string, count: number) => Promise<Outcome> | Outcome = (_key, execute) => ({
    kind: 'succeeded',
    ref: execute(),
  });

  receive(key: string, context: PerformContext<RigEvent>): Promise<Outcome> | Outcome {
    this.requests.push({ key, at: performance.now(), attemptId: context.attemptId, context });
    const count = this.requests.filter((request) => request.key === key).length;
    return this.behave(key, () => this.execute(key), count);
  }

  private execute(key: string): string {
    const stored = this.answers.get(key);
    if (this.native && stored !== undefined) return stored;
    const ref = `R-${this.records.length + 1}`;
    this.records.push({ key, ref });
    this.answers.set(key, ref);
    return ref;
  }

  of(key: string): Request[] {
    return this.requests.filter((request) => request.key === key);
  }
}

export interface RigTargetOptions {
  crm: RigCrm;
  kinds?: string[];
  concurrency?: number;
  timeoutMs?: number;
  needsVault?: boolean;
}

export class RigTarget implements Target<RigEvent> {
  readonly name = 'rig';
  readonly concurrency: number;
  readonly timeoutMs: number;

  constructor(private readonly options: RigTargetOptions) {
    this.concurrency = options.concurrency ?? 16;
    this.timeoutMs = options.timeoutMs ?? 200;
  }

  get nativeIdempotency(): boolean {
    return this.options.crm.native;
  }

  plan(event: RigEvent): PlannedDelivery | undefined {
    if (event.ref === 'not-ours') return undefined;
    const kinds = this.options.kinds ?? ['lead'];
    return {
      eventId: event.id,
      destination: this.name,
      leadRef: event.ref,
      submittedAt: new Date(),
      deadlineAt: new Date(event.deadlineMs),
      operations: kinds.map((kind) => ({ kind, operationKey: operationKey(event.id, this.name, kind) })),
      needsVault: this.options.needsVault ?? false,
      test: false,
    };
  }

  perform(operation: PlannedOperation, context: PerformContext<RigEvent>): Promise<Outcome> {
    return Promise.resolve(this.options.crm.receive(operation.operationKey, context));
  }

  resolved({ event, state, record, trace }: ResolvedDelivery<RigEvent>): OutboxRow[] {
    return [{ topic: 'resolved', key: record.key, value: Buffer.from(state), headers: { id: event.id, traceparent: trace.traceparent } }];
  }
}

/** A receipt that remembers when it was settled. */
export class RigReceipt implements Receipt {
  settled = false;
  stale = false;
  readonly redeliveries: number[] = [];
  /** Hands the record out again. */
  again?: () => void;

  constructor(readonly record: ConsumedRecord) {}

  settle(): void {
    if (!this.stale) this.settled = true;
  }

  redeliverIn(delayMs: number): void {
    this.redeliveries.push(delayMs);
    setTimeout(() => this.again?.(), delayMs).unref();
  }
}

export type RigReceived = Received<RigEvent> & { receipt: RigReceipt };

let nextOffset = 0n;

/** An event as its record would bring it. */
export function received(event: RigEvent, traceparent?: string): RigReceived {
  const record: ConsumedRecord = {
    topic: 'main',
    partition: 0,
    offset: nextOffset++,
    key: Buffer.from(event.ref),
    value: Buffer.from(JSON.stringify(event)),
    headers: {},
    timestampMs: Date.now(),
  };
  const parts = traceparent?.split('-');
  const trace = traceparent === undefined ? undefined : { traceparent, traceId: parts?.[1] ?? '', spanId: parts?.[2] ?? '', sampled: true };
  return { receipt: new RigReceipt(record), result: { ok: true, event }, trace };
}

export function newEvents(count: number, deadlineInMs = 3_600_000): RigEvent[] {
  return Array.from({ length: count }, (_, index) => ({ id: newEventId(), ref: `L-${index}`, deadlineMs: Date.now() + deadlineInMs }));
}

export interface RigProcess {
  engine: DeliveryEngine<RigEvent>;
  /** Hands records to the engine, and again what it gives back. */
  take(records: readonly RigReceived[]): void;
  db: MortalDatabase;
  paused: Set<string>;
  /** As kill -9: what it has asked of the database stays unanswered, nothing more is asked. */
  kill(): void;
}

export interface RigProcessOptions extends RigTargetOptions {
  db: Database;
  leaseMs?: number;
  vault?: Vault;
}

/** One process of a service: an engine over its own view of the database. */
export function startProcess(options: RigProcessOptions): RigProcess {
  const db = new MortalDatabase(options.db);
  const paused = new Set<string>();
  const engineOptions: DeliveryEngineOptions<RigEvent> = {
    db,
    target: new RigTarget(options),
    vault: options.vault,
    group: 'rig-group',
    control: () => ({ pause: (reason) => void paused.add(reason), resume: (reason) => void paused.delete(reason) }),
    dlqTopic: 'dlq',
    relayWake: () => {},
    telemetry: startTelemetry({ service: 'rig', ratio: 1 }),
    logger: createLogger('rig', 'silent'),
    leaseMs: options.leaseMs ?? 30_000,
  };
  const engine = new DeliveryEngine(engineOptions);
  const take = (records: readonly RigReceived[]) => {
    for (const record of records) record.receipt.again = () => engine.take([record]);
    engine.take(records);
  };
  return { engine, take, db, paused, kill: () => db.die() };
}

export function newSweeper(db: Database, nativeIdempotency: boolean): Sweeper {
  return new Sweeper({
    db,
    target: () => ({
      name: 'rig',
      nativeIdempotency,
      wakeTopic: 'wake',
      dlqTopic: 'dlq',
      timeoutMs: 200,
      verification: { maxExecutionMs: 2_000, searchLagMs: 1_000, horizonMs: 1_800_000 },
      canLookUp: () => false,
      attempts: () => 1_000,
      operations: () => [],
      resolved: () => [],
    }),
    held: () => Promise.resolve([]),
    relayWake: () => {},
    logger: createLogger('rig', 'silent'),
  });
}

/** The wake-ups in the outbox, as the records that relay and tier would hand on. */
export async function wakeUps(db: Database): Promise<RigReceived[]> {
  const rows = await db.sql<{ value: Buffer }>('rig.wake', `DELETE FROM outbox WHERE topic = 'wake' RETURNING value`, []);
  return rows.map(({ value }) => received(JSON.parse(value.toString()) as RigEvent));
}

/** Waits until a condition holds; throws after 10 s. */
export async function until(what: string, condition: () => Promise<boolean> | boolean): Promise<void> {
  const end = performance.now() + 10_000;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`gave up waiting until ${what}`);
    await delay(10);
  }
}
