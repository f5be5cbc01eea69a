import { topics } from '#contracts';
import type { ReadUnclaimed, Unclaimed, UnclaimedUnknown } from '#delivery';
import { BrokersUnavailable } from '#messaging';
import { DatabaseUnavailable, type Logger, StatementFailed } from '#runtime';
import { type LogSource, UnreadOf, type UnreadTools } from './unread-of.js';

export interface UnclaimedOptions extends UnreadTools {
  kafka: { admin(): Promise<LogSource> };
  /** All of the site file, also those that another process serves. */
  destinations: readonly string[];
  logger: Logger;
  /** How long a reading is given again. Default 3,000. */
  keepMs?: number;
  /** How long an answer waits for Kafka at most. Default 1,500. */
  timeoutMs?: number;
  /** How long records are looked at for one reading at most; the next one goes on. Default 700. */
  lookMs?: number;
}

type Reading = Awaited<ReturnType<ReadUnclaimed>>;

/**
 * Leads that lie on the topic because their destination takes none: a paused group reads nothing, so nobody else knows of them. Nothing is
 * asked of Kafka unless somebody looks, and then at most once in `keepMs`; no group is joined.
 */
export class UnclaimedLeads {
  readonly #unread: readonly UnreadOf[];
  #source: Promise<LogSource> | undefined;
  #running: { sinceMs: number; reading: Promise<Reading> } | undefined;
  #kept: { atMs: number; reading: Reading } | undefined;
  #said: UnclaimedUnknown | undefined;

  constructor(private readonly options: UnclaimedOptions) {
    this.#unread = options.destinations.map((destination) => new UnreadOf(destination, options));
  }

  /** A reading that Kafka keeps waiting is joined by the next call and answered for by `kafka_away`. Rejects with DatabaseUnavailable. */
  readonly read: ReadUnclaimed = async () => {
    const { keepMs = 3_000, timeoutMs = 1_500 } = this.options;
    const nowMs = performance.now();
    if (this.#kept !== undefined && nowMs - this.#kept.atMs < keepMs) return this.#kept.reading;
    this.#running ??= this.start();
    const { sinceMs, reading } = this.#running;
    return (await within(reading, Math.max(0, sinceMs + timeoutMs - nowMs))) ?? this.unknown('kafka_away');
  };

  private start(): { sinceMs: number; reading: Promise<Reading> } {
    const reading = this.readAll().finally(() => {
      this.#running = undefined;
    });
    reading.then(
      (kept) => {
        this.#kept = { atMs: performance.now(), reading: kept };
      },
      // Whoever waits for it is told; nobody may be left who does.
      () => undefined,
    );
    return { sinceMs: performance.now(), reading };
  }

  private async readAll(): Promise<Reading> {
    try {
      const reading = await this.readLog();
      this.say(undefined);
      return reading;
    } catch (error) {
      if (error instanceof DatabaseUnavailable || error instanceof StatementFailed) throw error;
      const why = error instanceof BrokersUnavailable ? 'kafka_away' : 'kafka_refused';
      this.say(why, error);
      return this.unknown(why);
    }
  }

  private async readLog(): Promise<Reading> {
    const { kafka, lookMs = 700 } = this.options;
    this.#source ??= kafka.admin();
    const source = await this.#source;
    const committed = await Promise.all(this.#unread.map((unread) => unread.positions(source)));
    const ends = await source.offsetsOf([topics.leadAccepted]);
    for (const [index, unread] of this.#unread.entries()) unread.move(committed[index] ?? new Map(), ends);
    const untilMs = performance.now() + lookMs;
    // The longest last: it alone may have to go on next time.
    for (const unread of [...this.#unread].sort((a, b) => a.unseen - b.unseen)) await unread.look(source, untilMs);
    const sums = this.#unread.map(async (unread): Promise<[string, Unclaimed]> => [unread.destination, await unread.sum()]);
    return new Map(await Promise.all(sums));
  }

  private unknown(why: UnclaimedUnknown): Reading {
    return new Map(this.options.destinations.map((destination) => [destination, { unknown: why }]));
  }

  /** Once, until it changes. */
  private say(why: UnclaimedUnknown | undefined, err?: unknown): void {
    if (why === this.#said) return;
    this.#said = why;
    const { logger } = this.options;
    if (why === undefined) logger.info('What lies unclaimed on the topic can be read again');
    else logger.warn({ err, reason: why }, 'What lies unclaimed on the topic cannot be read');
  }
}

/** Undefined: it was not there in time. */
async function within<T>(work: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
