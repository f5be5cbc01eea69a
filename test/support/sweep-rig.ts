import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { type OperationState, operationKey } from '#contracts';
import {
  type Standing,
  type StoredDelivery,
  Sweeper,
  type SweeperOptions,
  type VerifiedTarget,
  Verifier,
  type VerifierOptions,
} from '#delivery';
import { createLogger, type Database, newEventId, newLeadRef, startTelemetry } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { openDeliveryDatabase } from './delivery-rig.js';

export interface SweepRig {
  db: Database;
  /** Sets the schema's clock this far ahead of the real one. */
  advance(ms: number): Promise<void>;
  clear(): Promise<void>;
  /** Runs a statement on the schema without the limit of time that a service's statements have. */
  asOwner(text: string): Promise<void>;
  /** Refreshes what the planner knows of a table. */
  analyze(table: string): Promise<void>;
  close(): Promise<void>;
}

/** The delivery tables in a database of their own, with a clock that a test sets. */
export async function openSweepRig(name: string): Promise<SweepRig> {
  const database: TestDatabase = await testDatabase(name);
  const db = await openDeliveryDatabase(database.url);
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  await owner.query('SET search_path TO crm_writer');
  const advance = async (ms: number): Promise<void> => {
    await owner.query(`CREATE OR REPLACE FUNCTION crm_writer.clock_now() RETURNS timestamptz LANGUAGE sql VOLATILE
      AS $$ SELECT clock_timestamp() + interval '${ms} milliseconds' $$`);
  };
  return {
    db,
    advance,
    clear: async () => {
      await advance(0);
      for (const table of ['delivery', 'operation', 'attempt', 'outbox']) await db.sql(`rig.clear.${table}`, `DELETE FROM ${table}`, []);
    },
    asOwner: async (text) => void (await owner.query(text)),
    analyze: async (table) => void (await owner.query(`ANALYZE ${pg.escapeIdentifier(table)}`)),
    close: async () => {
      await owner.end();
      await db.close();
      await database.drop();
    },
  };
}

/** A target that announces each end as a row on `resolved` and looks nothing up. */
export function sweptTarget(more: Partial<VerifiedTarget> = {}): VerifiedTarget {
  const name = more.name ?? 'rig';
  return {
    name,
    nativeIdempotency: false,
    wakeTopic: (tier) => (tier === '15s' ? 'wake' : `wake.${tier}`),
    dlqTopic: 'dlq',
    timeoutMs: 2_000,
    verification: { maxExecutionMs: 2_000, searchLagMs: 1_000, horizonMs: 1_800_000 },
    canLookUp: () => more.lookup !== undefined,
    attempts: () => 4,
    operations: (eventId) => [{ kind: 'lead', operationKey: operationKey(eventId, name, 'lead') }],
    resolved: (stored: StoredDelivery) => [
      {
        topic: 'resolved',
        key: stored.recordKey,
        value: Buffer.from(stored.state),
        headers: {
          id: stored.eventId,
          resolved_at: String(stored.resolvedAt.getTime()),
          states: stored.operations.map(({ kind, state, ref }) => [kind, state, ref ?? ''].join('=')).join(' '),
        },
      },
    ],
    ...more,
  };
}

/** What destinations are up to, for a sweeper. */
export const standing =
  (more: Partial<Standing> = {}) =>
  (): Promise<Standing> =>
    Promise.resolve({ held: [], probe: [], blocked: [], ...more });

export function sweeperOf(db: Database, target: VerifiedTarget, more: Partial<SweeperOptions> = {}): Sweeper {
  return new Sweeper({
    db,
    target: (destination) => (destination === target.name ? target : undefined),
    standing: standing(),
    relayWake: () => {},
    logger: createLogger('rig', 'silent'),
    ...more,
  });
}

interface RowOperation {
  kind: string;
  state: OperationState;
  attempts?: number;
  ref?: string;
  /** A call began so long ago whose end nobody knows. */
  sendingAgoMs?: number;
  /** That call was marked by the claim that holds the row. Default: it is of an earlier one. */
  marked?: boolean;
  class?: string;
  code?: string;
}

export interface RowOptions {
  destination?: string;
  state?: string;
  /** Milliseconds from the database's now; negative: ago. */
  deadlineInMs?: number;
  dueInMs?: number;
  leaseInMs?: number;
  operations?: RowOperation[];
  /** Kinds that it declares and that have no row. */
  lost?: string[];
}

/** Writes a delivery with its operations as an engine would have left them. Gives its event id. */
export async function insertDelivery(db: Database, options: RowOptions = {}): Promise<string> {
  const { destination = 'rig', state = 'waiting', deadlineInMs = 3_600_000, dueInMs, leaseInMs } = options;
  const operations = options.operations ?? [{ kind: 'lead', state: state as OperationState }];
  const id = newEventId();
  const lost = options.lost ?? [];
  const kinds = [...new Set([...operations.map(({ kind }) => kind), ...lost])];
  const keys = kinds.map((kind) => operationKey(id, destination, kind));
  await db.sql(
    'rig.insert_delivery',
    `INSERT INTO delivery (event_id, destination, state, attempt_id, lease_until, next_attempt_at, submitted_at, deadline_at, claimed_at,
       updated_at, test, lead_ref, operation_keys, record_key, event)
     SELECT $1, $2, $3, $4, now + $5::float8 * interval '1 ms', now + $6::float8 * interval '1 ms', now, now + $7::float8 * interval '1 ms', now,
       now, false, $8, $9, $10, $11 FROM (SELECT clock_now() AS now) AS c`,
    [
      id,
      destination,
      state,
      randomUUID(),
      leaseInMs ?? null,
      dueInMs ?? null,
      deadlineInMs,
      newLeadRef(),
      keys,
      Buffer.from('person'),
      Buffer.from(id),
    ],
  );
  for (const [index, operation] of operations.entries()) {
    if (lost.includes(operation.kind)) continue;
    await db.sql(
      'rig.insert_operation',
      `INSERT INTO operation (operation_key, event_id, destination, kind, state, attempts, destination_ref, sending_at, updated_at, class, code)
       SELECT $1, $2, $3, $4, $5, $6, $7, now - $8::float8 * interval '1 ms', now - $9::float8 * interval '1 ms', $10, $11
       FROM (SELECT clock_now() AS now) AS c`,
      [
        keys[index],
        id,
        destination,
        operation.kind,
        operation.state,
        operation.attempts ?? 0,
        operation.ref ?? null,
        operation.sendingAgoMs ?? null,
        operation.marked ? (operation.sendingAgoMs ?? 0) + 1 : 0,
        operation.class ?? null,
        operation.code ?? null,
      ],
    );
  }
  return id;
}

export interface RigRow {
  state: string;
  class: string | null;
  code: string | null;
  /** Milliseconds until the next attempt or lookup. */
  due_ms: number | null;
  raised: boolean;
  operations: { kind: string; state: string; ref: string | null; attempts: number; absences: number }[];
}

export async function rowOf(db: Database, eventId: string): Promise<RigRow> {
  const [row] = await db.sql<RigRow>(
    'rig.row',
    `SELECT d.state, d.class, d.code, d.raised_at IS NOT NULL AS raised,
       CASE WHEN d.next_attempt_at < 'infinity' THEN (extract(epoch FROM d.next_attempt_at - clock_now()) * 1000)::float8 END AS due_ms,
       (SELECT json_agg(json_build_object('kind', kind, 'state', state, 'ref', destination_ref, 'attempts', attempts, 'absences', absences)
          ORDER BY operation_key) FROM operation o WHERE o.event_id = d.event_id) AS operations
     FROM delivery d WHERE event_id = $1`,
    [eventId],
  );
  if (row === undefined) throw new Error('no such delivery');
  return row;
}

export interface RigOutboxRow {
  topic: string;
  key: Buffer | null;
  value: Buffer;
  headers: Record<string, string>;
}

export const outboxRows = (db: Database): Promise<RigOutboxRow[]> =>
  db.sql<RigOutboxRow>('rig.outbox', 'SELECT topic, key, value, headers FROM outbox ORDER BY id', []);

export const topicsOf = async (db: Database): Promise<string[]> => (await outboxRows(db)).map(({ topic }) => topic).sort();

/** Outcomes in the log of attempts, oldest first. */
export const outcomesOf = async (db: Database): Promise<string[]> =>
  (await db.sql<{ outcome: string }>('rig.outcomes', 'SELECT outcome FROM attempt ORDER BY started_at, number', [])).map(
    ({ outcome }) => outcome,
  );

export function verifierOf(db: Database, target: VerifiedTarget, more: Partial<VerifierOptions> = {}): Verifier {
  return new Verifier({
    db,
    target: (destination) => (destination === target.name ? target : undefined),
    relayWake: () => {},
    telemetry: startTelemetry({ service: 'rig', ratio: 1 }),
    logger: createLogger('rig', 'silent'),
    ...more,
  });
}
