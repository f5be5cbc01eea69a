import type { Logger } from '#runtime';

export type ClientLogLevel = 'debug' | 'info' | 'warn';

export interface ClientLogEntry {
  namespace: string;
  /** kafkajs: 1 error, 2 warn, 4 info, 5 debug. */
  level: number;
  log: { message: string; error?: unknown };
}

const kafkajsError = 1;
const kafkajsWarn = 2;

/** What the client says in every healthy start, rebalance or stop. It repairs each by itself. */
const expected = [
  /coordinator is (loading|not available)/i,
  /not the correct coordinator/i,
  /does not host this topic-partition/i,
  /no leader for this topic-partition/i,
  /middle of a leadership election/i,
  /rebalanc/i,
  /not aware of this member/i,
  /re-joining/i,
  /group member needs a valid member id/i,
  /not the leader for that topic-partition/i,
];

/**
 * Level under which a line of the client reaches our log. Nothing is an error there: what matters is thrown at the caller or seen by the
 * supervisor, which says it once and in our words.
 */
export function clientLogLevel({ level, log }: ClientLogEntry): ClientLogLevel {
  if (level > kafkajsWarn) return 'debug';
  const text = `${log.message} ${typeof log.error === 'string' ? log.error : ''}`;
  if (expected.some((pattern) => pattern.test(text))) return 'debug';
  return level === kafkajsError ? 'warn' : 'info';
}

const quietMs = 10_000;
const rememberedLines = 100;

/** Hands the client's lines to our logger, the same warning at most once in 10 s: a broker that is away otherwise fills the log. */
export function clientLogCreator(logger: Logger, now: () => number = Date.now): () => (entry: ClientLogEntry) => void {
  const lastSaid = new Map<string, number>();
  const repeated = (line: string): boolean => {
    const at = now();
    const before = lastSaid.get(line);
    if (before !== undefined && at - before < quietMs) return true;
    if (lastSaid.size >= rememberedLines) lastSaid.clear();
    lastSaid.set(line, at);
    return false;
  };
  return () => (entry) => {
    const level = clientLogLevel(entry);
    const detail = typeof entry.log.error === 'string' ? `${entry.log.message}: ${entry.log.error}` : entry.log.message;
    if (level !== 'debug' && repeated(`${entry.namespace}: ${detail}`)) return;
    logger[level]({ component: `kafkajs.${entry.namespace}`, reason: detail }, 'Kafka client');
  };
}
