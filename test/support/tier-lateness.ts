import { headers, type RetryTier, retryTierMs, retryTopic } from '#contracts';
import { createGroupConsumer, type KafkaPort } from '#messaging';
import { createLogger } from '#runtime';
import { eventually, uniqueName } from '#testkit';

export interface TierRun {
  kafka: KafkaPort;
  records: number;
  /** Default: the smallest. */
  tier?: RetryTier;
  /** Due times are random over this time from the moment each record is written, in no order. Default: the length of the tier. */
  spanMs?: number;
  /** Records that wait in memory at most. Default: the consumer's own bound. */
  maxHeld?: number;
  /** Bytes of each record. Default 400, about an event with its headers. */
  valueBytes?: number;
  /** Records per write. One fetch brings whole writes, so the bound in memory is exceeded by up to a fetch. Default 1,000. */
  batch?: number;
}

export interface TierResult {
  /** Handed out before their time; must be 0. */
  early: number;
  /** Handed out more than once. */
  again: number;
  /** Hand-out minus due time of each record, ascending, in ms. */
  latenessMs: number[];
}

/** Writes records with random due times to a retry tier of one partition while a consumer reads it, and measures when each is handed out. */
export async function measureTier({
  kafka,
  records,
  tier = '15s',
  spanMs = retryTierMs[tier],
  maxHeld,
  valueBytes = 400,
  batch = 1_000,
}: TierRun): Promise<TierResult> {
  const group = uniqueName('tier');
  const topic = retryTopic('lateness', group, tier);
  await (await kafka.admin()).createTopics([{ topic, partitions: 1, replication: 1 }]);
  const seen = new Map<number, number>();
  let again = 0;
  const consumer = createGroupConsumer({
    kafka,
    group,
    topics: [topic],
    tierTopics: [topic],
    sessionTimeoutMs: 30_000,
    maxHeld,
    logger: createLogger('tier-lateness', 'silent'),
    onReceipts: (receipts) => {
      const now = Date.now();
      for (const { record } of receipts) {
        const id = Number(record.key);
        if (seen.has(id)) again += 1;
        else seen.set(id, now - Number(record.headers[headers.notBefore]));
      }
      for (const receipt of receipts) receipt.settle();
    },
  });
  await consumer.start();
  const producer = await kafka.producer();
  const value = Buffer.alloc(valueBytes, 'x');
  for (let from = 0; from < records; from += batch) {
    const rows = Array.from({ length: Math.min(batch, records - from) }, (_, n) => ({
      topic,
      key: Buffer.from(String(from + n)),
      value,
      headers: { [headers.notBefore]: String(Date.now() + Math.round(Math.random() * spanMs)) },
    }));
    await producer.send(rows);
  }
  await eventually('every record', () => seen.size === records, { timeoutMs: 10 * spanMs + 60_000 });
  await consumer.stop();
  const latenessMs = [...seen.values()].sort((a, b) => a - b);
  return { early: latenessMs.filter((ms) => ms < 0).length, again, latenessMs };
}

/** The value below which a share of ascending values lies. */
export function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** "p50 3 ms, p99 12 ms, max 20 ms" of ascending values. */
export function percentiles(sorted: readonly number[]): string {
  return `p50 ${at(sorted, 0.5)} ms, p99 ${at(sorted, 0.99)} ms, max ${at(sorted, 1)} ms`;
}
