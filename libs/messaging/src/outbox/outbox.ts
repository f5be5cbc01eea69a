import type { Sql } from '#runtime';

/** A record to publish, written in the transaction of the change it announces. Rows of one key keep their order. */
export interface OutboxRow {
  topic: string;
  key: Buffer | null;
  value: Buffer | null;
  /** Published as they are, byte for byte. */
  headers: Record<string, string>;
}

/** Rows of one key share a lane; a lane is published by one relay at a time. Written into the table, so never change it alone. */
export const outboxLanes = 8;

/**
 * Tables `outbox` and `outbox_parked` of one service. For the service's first migration.
 *
 * The queue is read in (lane, id) order and rows are deleted once published, so that is the only index. Vacuum works by absolute numbers
 * because the table is empty most of the time, at full speed because dead rows are what slows a queue, and never gives pages back because
 * that needs a lock on the whole table. Parked rows lie apart, out of the way of the queue.
 */
export const outboxDdl = `
CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY,
  lane smallint NOT NULL GENERATED ALWAYS AS (coalesce(hashtext(encode(key, 'hex')), 0) & ${outboxLanes - 1}) STORED,
  topic text NOT NULL,
  key bytea,
  value bytea,
  headers json NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (lane, id)
) WITH (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000000,
  autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false
);
CREATE TABLE outbox_parked (
  id bigint PRIMARY KEY,
  topic text NOT NULL,
  key bytea,
  value bytea,
  headers json NOT NULL,
  created_at timestamptz NOT NULL,
  parked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  parked_reason text NOT NULL
);
`;

/** Values of the four parameters of `outboxInsert`, in its order. */
export type OutboxColumns = [topics: string[], keys: (Buffer | null)[], values: (Buffer | null)[], headers: string[]];

/** Rows as the four arrays that `outboxInsert` unnests. */
export function outboxColumns(rows: readonly OutboxRow[]): OutboxColumns {
  return [
    rows.map((row) => row.topic),
    rows.map((row) => row.key),
    rows.map((row) => row.value),
    rows.map((row) => JSON.stringify(row.headers)),
  ];
}

/**
 * The insert as text, for a data-modifying CTE of a larger statement; its parameters are $first … $first+3 (see outboxColumns). Where the
 * rows depend on what the statement itself decides, insert into outbox (topic, key, value, headers) by a SELECT of your own instead.
 */
export function outboxInsert(first = 1): string {
  const [topics, keys, values, headers] = [first, first + 1, first + 2, first + 3];
  return (
    'INSERT INTO outbox (topic, key, value, headers) ' +
    `SELECT * FROM unnest($${topics}::text[], $${keys}::bytea[], $${values}::bytea[], $${headers}::json[])`
  );
}

/** Inserts rows; call `relay.wake()` after the commit. */
export async function insertOutbox(tx: Sql, rows: readonly OutboxRow[]): Promise<void> {
  if (rows.length > 0) await tx.sql('outbox.insert', outboxInsert(), outboxColumns(rows));
}
