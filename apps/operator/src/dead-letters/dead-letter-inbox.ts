import { setTimeout as delay } from 'node:timers/promises';
import { type Codec, type ConsumedRecord, DecodeError, type GroupConsumer, type Received, RegistryUnavailable } from '#messaging';
import {
  type Database,
  DatabaseUnavailable,
  InternalRefused,
  InternalUnavailable,
  type Logger,
  type Site,
  StatementFailed,
} from '#runtime';
import { groupBy } from '../group-by.js';
import { type OwnerApi, ownerBatch } from '../owners/owner-api.js';
import { countStored } from './count-letters.js';
import type { Letter, Told } from './letter.js';
import { readLetter } from './read-letter.js';
import { type DeadLetterSource, endpointOf } from './sources.js';
import { storeLetters } from './store-letters.js';
import { withHistory } from './with-history.js';

export interface DeadLetterInboxOptions {
  db: Database;
  codec: Pick<Codec, 'decode'>;
  sources: ReadonlyMap<string, DeadLetterSource>;
  owners: ReadonlyMap<string, OwnerApi>;
  site: Pick<Site, 'destinations'>;
  control: () => Pick<GroupConsumer, 'pause' | 'resume' | 'fail'>;
  logger: Logger;
  /** Default 1,000; doubled up to 10,000. */
  firstPauseMs?: number;
}

type Batch = readonly Received<Buffer | null>[];

/** Letters stored by one statement: each may carry the history of many calls. */
const chunkSize = 100;
const longestPauseMs = 10_000;

/**
 * Brings dead letters into the table, each with the history that its owner has of it. A record is settled once its row stands. Owner, registry
 * or PostgreSQL away: its topic pauses and is tried again for ever, the other topics go on; nothing is dropped.
 */
export class DeadLetterInbox {
  private readonly stopping = new AbortController();
  private readonly lines = new Map<string, Promise<void>>();

  constructor(private readonly options: DeadLetterInboxOptions) {}

  /** Takes records on; of one topic they are stored in order. */
  take(received: Batch): void {
    for (const [topic, batch] of groupBy(received, ({ receipt }) => receipt.record.topic)) {
      const before = this.lines.get(topic) ?? Promise.resolve();
      this.lines.set(
        topic,
        before.then(() => this.store(topic, batch)).catch((error: unknown) => this.options.control().fail(error)),
      );
    }
  }

  /** Waits for what is being stored; what was not comes again after the next start. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.lines.values());
  }

  private async store(topic: string, batch: Batch): Promise<void> {
    for (let at = 0; at < batch.length; at += chunkSize) await this.insist(topic, batch.slice(at, at + chunkSize));
  }

  /** Tries until the rows stand. @throws whatever waiting cannot mend. */
  private async insist(topic: string, batch: Batch): Promise<void> {
    const { control, logger, firstPauseMs = 1_000 } = this.options;
    const places = [...new Set(batch.map(({ receipt }) => receipt.record.partition))].map((partition) => ({ topic, partition }));
    for (let pauseMs = firstPauseMs; !this.stopping.signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const away = await this.tryOnce(batch);
      if (away === undefined) return;
      const { err, reason } = away;
      logger.warn({ err, topic, reason, retry_in_ms: pauseMs }, 'Dead letters cannot be stored; the topic waits');
      control().pause(reason, places);
      await delay(pauseMs, undefined, { signal: this.stopping.signal }).catch(() => undefined);
      control().resume(reason, places);
    }
  }

  /** Stores and settles what is still ours; undefined when that is done. @throws whatever waiting cannot mend. */
  private async tryOnce(batch: Batch): Promise<{ err: unknown; reason: string } | undefined> {
    const live = batch.filter(({ receipt }) => !receipt.stale);
    try {
      await this.storeNow(live.map(({ receipt }) => receipt.record));
    } catch (err) {
      const reason = whoIsAway(err);
      if (reason === undefined) throw err;
      return { err, reason };
    }
    for (const { receipt } of live) receipt.settle();
    return undefined;
  }

  private async storeNow(records: readonly ConsumedRecord[]): Promise<void> {
    const { db, logger } = this.options;
    const letters = await this.withHistories(await Promise.all(records.map((record) => this.read(record))));
    try {
      countStored(await storeLetters(db, letters));
    } catch (error) {
      if (!(error instanceof StatementFailed)) throw error;
      // One row that PostgreSQL does not take must not hold up the others, nor be lost: then its bare facts are kept.
      for (const letter of letters) countStored(await storeLetters(db, [letter]).catch(() => storeLetters(db, [bare(letter)])));
      logger.error({ err: error }, 'A dead letter could not be stored whole');
    }
  }

  private async read(record: ConsumedRecord): Promise<Letter> {
    const source = this.options.sources.get(record.topic);
    if (source === undefined) throw new Error(`${record.topic} is no dead-letter topic`);
    const letter = readLetter(record, source, await this.decode(record, source));
    return { ...letter, endpoint: endpointOf(this.options.site, letter.destination) };
  }

  private async decode({ value }: ConsumedRecord, { event }: DeadLetterSource): Promise<Told | undefined> {
    try {
      return (await this.options.codec.decode(event, value)) as Told;
    } catch (error) {
      if (error instanceof DecodeError) return undefined;
      throw error;
    }
  }

  private async withHistories(letters: readonly Letter[]): Promise<Letter[]> {
    const found = new Map<string, Letter>(letters.map((letter) => [letter.identity, letter]));
    for (const [service, own] of groupBy(found.values(), (letter) => letter.service)) {
      const owner = this.options.owners.get(service);
      const known = own.filter(({ event, eventId, destination }) => event && eventId && destination);
      if (owner === undefined || known.length === 0) continue;
      const histories = await owner.histories(known.slice(0, ownerBatch).map(nameOf));
      const byName = new Map(histories.map((history) => [`${history.event_id} ${history.destination}`, history]));
      for (const letter of known) {
        found.set(letter.identity, withHistory(letter, byName.get(`${letter.eventId} ${letter.destination}`)));
      }
    }
    return [...found.values()];
  }
}

const nameOf = ({ eventId = '', destination = '' }: Letter) => ({ event_id: eventId, destination });

/** What stays of a letter that PostgreSQL does not take. */
function bare({ identity, service, eventId, destination, class: failure, deadAt, foundBy, at, attempts, test, schemaId }: Letter): Letter {
  return {
    identity,
    service,
    eventId,
    destination,
    class: failure,
    deadAt,
    foundBy,
    at,
    attempts,
    test,
    schemaId,
    operations: [],
    history: [],
  };
}

/** Who has to come back before it is worth trying again; undefined for what waiting does not mend. */
function whoIsAway(error: unknown): string | undefined {
  if (error instanceof DatabaseUnavailable) return 'database';
  if (error instanceof RegistryUnavailable) return 'registry';
  // A refusal is a fault in the installation (a token, an older release): it is mended there, and nothing is lost meanwhile.
  return error instanceof InternalUnavailable || error instanceof InternalRefused ? 'owner' : undefined;
}
