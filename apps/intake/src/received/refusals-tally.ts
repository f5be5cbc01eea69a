import { type Logger, type SourceConfig, type Sql, StatementFailed } from '#runtime';
import { countReceived, type Uncounted } from './count-received.js';

/** Outcomes of POST /v1/leads that are refusals for good, decided without a transaction. All others either have one or are to come again. */
const refusedForGood: ReadonlySet<string> = new Set([
  'malformed',
  'repeated-field',
  'missing-id',
  'invalid',
  'too-large',
  'unsupported-media-type',
  'unsupported-content-encoding',
  'bad-request',
]);

const flushMs = 1_000;

/**
 * Counts what the HTTP door refuses without asking PostgreSQL, and writes it down every second: a refusal is answered also while PostgreSQL is away. A
 * process that is killed forgets the refusals of its last second, as received and as rejected alike.
 */
export class RefusalsTally {
  private readonly pending = new Map<string, Uncounted & { rejected: number }>();
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();

  constructor(private readonly tools: { db: Sql; logger: Logger }) {}

  /** Notes one request that was answered. Other outcomes than refusals are counted by whoever decided them. */
  note({ organization, id }: SourceConfig, outcome: string): void {
    if (!refusedForGood.has(outcome)) return;
    this.add({ organization, source: id, rejected: 1 });
    this.timer ??= setTimeout(() => void this.flush(), flushMs);
  }

  /** Writes what is pending; what could not be written stays. Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.writing = this.writing.then(() => this.write());
    return this.writing;
  }

  private add(counted: Uncounted & { rejected: number }): void {
    const name = `${counted.organization}\n${counted.source}`;
    this.pending.set(name, { ...counted, rejected: counted.rejected + (this.pending.get(name)?.rejected ?? 0) });
  }

  private async write(): Promise<void> {
    const counted = [...this.pending.values()];
    if (counted.length === 0) return;
    this.pending.clear();
    try {
      await countReceived(this.tools.db, counted);
    } catch (err) {
      const lost = err instanceof StatementFailed;
      const what = lost
        ? 'Refusals could not be counted, and stay uncounted'
        : 'Refusals could not be counted; they are with the next ones';
      this.tools.logger.warn({ err, count: counted.length }, what);
      if (lost) return;
      for (const one of counted) this.add(one);
      this.timer ??= setTimeout(() => void this.flush(), flushMs);
    }
  }
}
