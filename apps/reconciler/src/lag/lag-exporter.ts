import type { GroupSpec } from '#contracts';
import type { Logger, ReadinessCheck } from '#runtime';
import { publishLag } from './publish-lag.js';
import { type LagPicture, type LagSource, readLag } from './read-lag.js';

const defaultKeepMs = 1_000;
const defaultTimeoutMs = 1_500;

export interface LagExporterOptions {
  source: LagSource;
  groups: readonly GroupSpec[];
  logger: Logger;
  /** A scrape within this many milliseconds after a reading gets the same one. Default 1,000. */
  keepMs?: number;
  /** A reading that takes longer counts as failed, so that a scrape never shows an older one as if it were new. Default 1,500. */
  timeoutMs?: number;
}

/**
 * Reads lag when somebody asks for it, and never otherwise. A reading that fails leaves no samples of lag, an old
 * `leads_lag_export_last_success_timestamp_seconds`, a red readiness and one log line.
 */
export class LagExporter {
  private reading: Promise<LagPicture> | undefined;
  private refreshing: Promise<void> | undefined;
  private keptUntilMs = 0;
  private failure: string | undefined;

  constructor(private readonly options: LagExporterOptions) {}

  readonly readiness: ReadinessCheck = {
    name: 'lag',
    check: async () => {
      await this.refresh();
      return this.failure === undefined ? { ok: true } : { ok: false, detail: `lag cannot be read: ${this.failure}` };
    },
  };

  /** Resolves once the gauges are up to date; calls at once share one reading. Never rejects. */
  refresh(): Promise<void> {
    if (performance.now() < this.keptUntilMs) return Promise.resolve();
    this.refreshing ??= this.publish().finally(() => {
      this.refreshing = undefined;
      this.keptUntilMs = performance.now() + (this.options.keepMs ?? defaultKeepMs);
    });
    return this.refreshing;
  }

  private async publish(): Promise<void> {
    const { logger, timeoutMs = defaultTimeoutMs } = this.options;
    try {
      publishLag(await withinTime(this.read(), timeoutMs));
      if (this.failure !== undefined) logger.info('lag can be read again');
      this.failure = undefined;
    } catch (error) {
      publishLag(undefined);
      if (this.failure === undefined) logger.warn({ err: error }, 'lag cannot be read');
      this.failure = error instanceof Error ? error.name : 'unknown';
    }
  }

  /** A reading that Kafka keeps waiting is joined by the next call, so that a broker that is away is not asked ever more often. */
  private read(): Promise<LagPicture> {
    this.reading ??= readLag(this.options.source, this.options.groups).finally(() => {
      this.reading = undefined;
    });
    return this.reading;
  }
}

async function withinTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new LagReadTimeout(timeoutMs)), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Kafka did not answer in time. */
class LagReadTimeout extends Error {
  override readonly name = 'LagReadTimeout';
  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs} ms`);
  }
}
