import type { Duplex } from 'node:stream';
import pg from 'pg';
import type { Database } from '#runtime';
import { outboxLanes } from '../outbox/outbox.js';
import { type QueuedRow, type RowRef, rowBytes } from './queued-row.js';
import * as sql from './session-sql.js';

/** What one look at the server says. */
export interface Beat {
  /** Keys of all relays of this service, ascending. */
  members: number[];
  /** Lanes that this session holds by the server's account. */
  lanes: number[];
  /** Transactions below `xmin` are over; those from `xmax` on had not begun. */
  xmin: bigint;
  xmax: bigint;
}

export interface OutboxStats {
  /** Rows waiting, counted up to 100,000. */
  pending: number;
  oldestAgeSeconds: number;
  parked: number;
}

const closeWithinMs = 2_000;

/**
 * The relay's own connection: its advisory locks are its lanes, it listens for wake-ups, and it reads and deletes. One connection for all, so
 * that losing the locks also ends the reading and deleting. It needs a direct connection (or a pooler in session mode).
 *
 * Deletes may be lost in a crash of PostgreSQL (synchronous_commit off): their rows are published twice, which consumers are promised anyway.
 */
export class OutboxSession {
  /** Set once the connection is gone; every method rejects from then on. */
  lost = false;

  private constructor(
    private readonly client: pg.Client,
    /** Key of this relay among the members. */
    readonly key: number,
    private readonly channel: string,
  ) {}

  /** @throws the driver's error when the server cannot be reached. */
  static async open(
    db: Database,
    on: { notified(): void; told(channel: string, payload: string): void; lost(): void },
    { silenceMs, statementTimeoutMs }: { silenceMs: number; statementTimeoutMs: number },
  ): Promise<OutboxSession> {
    const pool = (db.dataSource.driver as unknown as { master: pg.Pool }).master;
    const client = new pg.Client({
      ...pool.options,
      // The pool hides it from enumeration.
      password: pool.options.password,
      application_name: `${pool.options.application_name ?? ''} relay`.trim(),
      query_timeout: statementTimeoutMs * 1.25,
    });
    let session: OutboxSession | undefined;
    const lost = () => {
      if (session !== undefined) session.lost = true;
      on.lost();
    };
    client.on('error', lost);
    client.on('end', lost);
    try {
      await client.connect();
      const [identity] = (await client.query<{ key: number; channel: string }>(sql.identify)).rows;
      if (identity === undefined) throw new Error('PostgreSQL gave no answer');
      session = new OutboxSession(client, identity.key, identity.channel);
      client.on('notification', ({ channel, processId, payload = '' }) => {
        if (channel !== identity.channel) on.told(channel, payload);
        else if (processId !== identity.key) on.notified();
      });
      await client.query(sql.settings({ silenceMs, statementTimeoutMs }));
      await session.listen(identity.channel);
      await client.query(sql.join);
      return session;
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  }

  async beat(): Promise<Beat> {
    const [row] = await this.run<{ members: number[] | null; lanes: number[] | null; xmin: string; xmax: string }>('beat', sql.beat, []);
    if (row === undefined) throw new Error('PostgreSQL gave no answer');
    return { members: row.members ?? [], lanes: row.lanes ?? [], xmin: BigInt(row.xmin), xmax: BigInt(row.xmax) };
  }

  async lock(lane: number): Promise<boolean> {
    const [row] = await this.run<{ locked: boolean }>('lock', sql.lock, [lane]);
    return row?.locked === true;
  }

  /** Gives a lane back and tells the other relays. */
  async unlock(lane: number): Promise<void> {
    await this.run('unlock', sql.unlock, [lane]);
    await this.notify();
  }

  /** Hears of one more channel. */
  async listen(channel: string): Promise<void> {
    await this.client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
  }

  async notify(): Promise<void> {
    await this.run('notify', 'SELECT pg_notify($1, $2)', [this.channel, '']);
  }

  /**
   * The next rows of each lane after its cursor, at most `limit` per lane, in table order per lane. Rows of `skipped` topics come without
   * content: they only move the cursor.
   */
  async read(cursors: ReadonlyMap<number, string>, limit: number, skipped: readonly string[]): Promise<(QueuedRow | SkippedRow)[]> {
    const values = [[...cursors.keys()], [...cursors.values()], limit, skipped];
    return (await this.run<RawRow>('read', sql.read, values)).map(toRow);
  }

  /** Ids between `floor` and each lane's cursor: what is still being published, and what was committed late. */
  async behind(cursors: ReadonlyMap<number, string>, floor: bigint, skipped: readonly string[]): Promise<RowRef[]> {
    return this.run<RowRef>('behind', sql.behind, [[...cursors.keys()], [...cursors.values()], floor.toString(), skipped]);
  }

  async fetch(rows: readonly RowRef[]): Promise<(QueuedRow | SkippedRow)[]> {
    return (await this.run<RawRow>('fetch', sql.fetch, refs(rows))).map(toRow);
  }

  async remove(rows: readonly RowRef[]): Promise<void> {
    await this.run('remove', sql.remove, refs(rows));
  }

  async park({ lane, id }: RowRef, reason: string): Promise<void> {
    await this.run('park', sql.park, [lane, id, reason]);
  }

  async stats(): Promise<OutboxStats> {
    const lanes = Array.from({ length: outboxLanes }, (_, lane) => lane);
    const [row] = await this.run<{ pending: string; age: number | null; parked: string }>('stats', sql.stats, [lanes]);
    return { pending: Number(row?.pending ?? 0), oldestAgeSeconds: row?.age ?? 0, parked: Number(row?.parked ?? 0) };
  }

  /** A polite end first; a peer that is gone never answers it. */
  async close(): Promise<void> {
    const { stream } = (this.client as unknown as { connection: { stream: Duplex } }).connection;
    const impatience = setTimeout(() => stream.destroy(), closeWithinMs);
    await this.client.end().catch(() => undefined);
    clearTimeout(impatience);
  }

  private async run<R>(name: string, text: string, values: readonly unknown[]): Promise<R[]> {
    if (this.lost) throw new Error('the connection of the relay is gone');
    return (await this.client.query({ name: `relay.${name}`, text, values: values as unknown[] })).rows as R[];
  }
}

/** A row of a topic that is stopped. */
export type SkippedRow = RowRef & { topic: string; skipped: true };

interface RawRow extends Omit<QueuedRow, 'bytes'> {
  skipped: boolean;
}

function toRow(row: RawRow): QueuedRow | SkippedRow {
  if (row.skipped) return { id: row.id, lane: row.lane, topic: row.topic, skipped: true };
  const { id, lane, topic, key, value, headers } = row;
  return { id, lane, topic, key, value, headers, bytes: rowBytes(row) };
}

const refs = (rows: readonly RowRef[]): [number[], string[]] => [rows.map((row) => row.lane), rows.map((row) => row.id)];
