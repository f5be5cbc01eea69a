import type { Sql } from '#runtime';

/** A record to publish, written in the transaction of the change it announces. Rows of one key keep their order. */
export interface OutboxRow {
  topic: string;
  key: Buffer | null;
  value: Buffer | null;
  /** Published as they are, byte for byte. */
  headers: Record<string, string>;
}

/** Tables `outbox` and `outbox_parked` of one service. For the service's first migration. */
export const outboxDdl = '';

/** Values of the four parameters of `outboxInsert`, in its order. */
export type OutboxColumns = [topics: string[], keys: (Buffer | null)[], values: (Buffer | null)[], headers: string[]];

export function outboxColumns(_rows: readonly OutboxRow[]): OutboxColumns {
  throw new Error('not implemented');
}

/** The insert as text, for a data-modifying CTE of a larger statement; its parameters are $first … $first+3 (see outboxColumns). */
export function outboxInsert(_first = 1): string {
  throw new Error('not implemented');
}

/** Inserts rows; call `relay.wake()` after the commit. */
export async function insertOutbox(_tx: Sql, _rows: readonly OutboxRow[]): Promise<void> {
  throw new Error('not implemented');
}
