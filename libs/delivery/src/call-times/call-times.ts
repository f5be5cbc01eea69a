import { setTimeout as delay } from 'node:timers/promises';
import type { Logger, Sql } from '#runtime';
import { bucketOf } from './buckets.js';

/**
 * What of a call was measured: until there was a connection (where one had to be made), from the request to the answer's headers, and the whole
 * call with its wait for a connection.
 */
export const callPhases = ['connect', 'first_byte', 'total'] as const;
export type CallPhase = (typeof callPhases)[number];

/** Told how long a phase of a call took, in milliseconds. */
export type OnCallTime = (phase: CallPhase, ms: number) => void;

export interface CallTimesOptions {
  db: Sql;
  logger: Logger;
  /** Between writes; default 10,000. */
  everyMs?: number;
}

/** Sorted, so that two processes never wait for each other's rows crosswise. */
const addSql = `
INSERT INTO call_time (hour, destination, phase, bucket, count)
SELECT date_trunc('hour', clock_now(), 'UTC'), destination, phase, bucket, count
FROM unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[]) AS n (destination, phase, bucket, count)
ORDER BY destination, phase, bucket
ON CONFLICT (hour, destination, phase, bucket) DO UPDATE SET count = call_time.count + excluded.count`;

const forgetSql = `DELETE FROM call_time WHERE hour < clock_now() - interval '2 days'`;
const forgetEveryMs = 3_600_000;

type Counts = Map<number, number>;

interface Counted {
  destination: string;
  phase: CallPhase;
  bucket: number;
  count: number;
}

/** Counts how long the calls of this process took, and adds it to what all processes know. What is not written when a process dies is lost. */
export class CallTimes {
  readonly #options: CallTimesOptions;
  readonly #stop = new AbortController();
  /** By destination, then phase. */
  #counts = new Map<string, Map<CallPhase, Counts>>();
  #forgotAtMs = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(options: CallTimesOptions) {
    this.#options = options;
  }

  /** What calls of one destination are told to. */
  of(destination: string): OnCallTime {
    return (phase, ms) => this.#add({ destination, phase, bucket: bucketOf(ms), count: 1 });
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Writes what is left. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Writes what was counted since; rejects with DatabaseUnavailable, and then it is still counted. */
  async flush(): Promise<void> {
    const taken = this.#counts;
    this.#counts = new Map();
    const rows: Counted[] = [...taken].flatMap(([destination, phases]) =>
      [...phases].flatMap(([phase, counts]) => [...counts].map(([bucket, count]) => ({ destination, phase, bucket, count }))),
    );
    if (rows.length === 0) return;
    const column = (name: keyof Counted) => rows.map((row) => row[name]);
    try {
      await this.#options.db.sql('call_times.add', addSql, [column('destination'), column('phase'), column('bucket'), column('count')]);
    } catch (error) {
      for (const row of rows) this.#add(row);
      throw error;
    }
  }

  #add({ destination, phase, bucket, count }: Counted): void {
    const phases = this.#counts.get(destination) ?? new Map<CallPhase, Counts>();
    const counts = phases.get(phase) ?? new Map<number, number>();
    counts.set(bucket, (counts.get(bucket) ?? 0) + count);
    phases.set(phase, counts);
    this.#counts.set(destination, phases);
  }

  async #run(): Promise<void> {
    const { everyMs = 10_000, logger } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await delay(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
      try {
        await this.flush();
        await this.#forget();
      } catch (error) {
        logger.warn({ err: error }, 'times of calls not written');
      }
    }
  }

  async #forget(): Promise<void> {
    if (this.#forgotAtMs > 0 && performance.now() - this.#forgotAtMs < forgetEveryMs) return;
    await this.#options.db.sql('call_times.forget', forgetSql, []);
    this.#forgotAtMs = performance.now();
  }
}
