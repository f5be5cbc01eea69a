import { setTimeout as sleep } from 'node:timers/promises';
import type { AdminPort, KafkaPort } from '../kafka/ports.js';

const timeoutMs = 2_000;
const atMostEveryMs = 2_000;

export interface Position {
  topic: string;
  partition: number;
  /** Next offset to be fetched; undefined before the first fetch. */
  next: number | undefined;
}

/**
 * How many records lie behind a consumer's fetch positions, asked of the brokers: the consumer itself only knows of what it fetches, so it
 * would not notice a partition that it never fetches.
 */
export class LagProbe {
  private admin: Promise<AdminPort> | undefined;
  private lastMs = Number.NEGATIVE_INFINITY;
  private last: number | undefined;

  constructor(
    private readonly kafka: KafkaPort,
    private readonly group: string,
  ) {}

  /** The lag, at most 2 s old; undefined when no broker answers within 2 s. */
  async lag(positions: readonly Position[]): Promise<number | undefined> {
    if (positions.length === 0) return 0;
    if (Date.now() - this.lastMs < atMostEveryMs) return this.last;
    this.lastMs = Date.now();
    const timeUp = sleep(timeoutMs, undefined, { ref: false });
    this.last = await Promise.race([this.ask(positions).catch(() => undefined), timeUp]);
    return this.last;
  }

  async close(): Promise<void> {
    await (await this.admin)?.close();
  }

  private async ask(positions: readonly Position[]): Promise<number> {
    this.admin ??= this.kafka.admin();
    const admin = await this.admin;
    const topics = [...new Set(positions.map(({ topic }) => topic))];
    const unfetched = positions.filter(({ next }) => next === undefined).map(({ topic }) => topic);
    const [ends, committed] = await Promise.all([admin.offsetsOf(topics), admin.groupOffsets(this.group, [...new Set(unfetched)])]);
    const commits = new Map(committed.map(({ topic, partition, offset }) => [`${topic}/${partition}`, offset]));
    const at = new Map(positions.map(({ topic, partition, next }) => [`${topic}/${partition}`, next]));
    return ends.reduce((sum, { topic, partition, low, high }) => {
      const place = `${topic}/${partition}`;
      if (!at.has(place)) return sum;
      return sum + lagOf({ position: at.get(place) ?? commits.get(place), low, high });
    }, 0);
  }
}

/** Records still to be read. Without a position reading begins at the start; below the start of the log nothing is left to read. */
export function lagOf({ position, low, high }: { position: number | bigint | undefined; low: bigint; high: bigint }): number {
  const from = position === undefined || BigInt(position) < low ? low : BigInt(position);
  return from >= high ? 0 : Number(high - from);
}
