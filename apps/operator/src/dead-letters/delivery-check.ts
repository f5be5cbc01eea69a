import { type EventDescriptor, type LeadAccepted, LeadAcceptedEvent, LeadResolvedEvent, refusedRecord } from '#contracts';
import type { HistoryItem, UnresolvedItem } from '#delivery';
import type { Codec } from '#messaging';
import { type Logger, metrics, type Site, type Sql } from '#runtime';
import type { OwnerApi } from '../owners/owner-api.js';
import { countStored } from './count-letters.js';
import { aboutLead, deliveryIdentity, type Letter, type OwningService, refusedIdentity, refusedReference } from './letter.js';
import { schemaIdOf } from './schema-id.js';
import { endpointOf } from './sources.js';
import { storeLetters } from './store-letters.js';
import { withHistory } from './with-history.js';

export interface DeliveryCheckOptions {
  db: Sql;
  codec: Pick<Codec, 'decode'>;
  site: Pick<Site, 'destinations'>;
  owners: ReadonlyMap<string, OwnerApi>;
  logger: Logger;
  /** How long a dead letter may be under way before it counts as lost; default 30,000. */
  lateAfterMs?: number;
  /** Milliseconds that only ever grow; default: those of this process. */
  elapsedMs?: () => number;
}

/** Pages of one owner per run: the next run goes on from there. */
const pagesPerRun = 10;
/** Letters of one page that may fail before the rest of it is left to the next round. */
const failuresPerPage = 5;

const knownSql = 'SELECT identity FROM dead_letter WHERE identity = ANY ($1::text[])';

/**
 * Holds what the owners say is unresolved against the table: delivery to the dead-letter topic is not taken on trust. What is missing for
 * longer than half a minute is fetched from its owner and stored.
 */
export class DeliveryCheck {
  private readonly cursors = new Map<string, string | undefined>();
  /** By identity: since when it is missed. */
  private readonly missedSince = new Map<string, number>();
  /** Identities that could not be fetched. */
  private readonly unfetched = new Set<string>();
  /** Services of which something could not be fetched since their first page: they do not count as checked. */
  private readonly lacking = new Set<string>();

  constructor(private readonly options: DeliveryCheckOptions) {
    // From the start on, so that one that never succeeds after a restart is missed all the same.
    for (const service of options.owners.keys()) metrics.deadLetterCheckedAt.set({ service }, Date.now() / 1_000);
  }

  /** One run over the owners; one that does not answer does not hold up the others. Never rejects: what failed is logged and done again. */
  async run(): Promise<void> {
    const { owners, logger } = this.options;
    for (const [service, owner] of owners) {
      try {
        await this.checkOwner(service as OwningService, owner);
      } catch (err) {
        logger.warn({ err, component: service }, 'What is unresolved could not be compared with the dead letters');
      }
    }
  }

  private async checkOwner(service: OwningService, owner: OwnerApi): Promise<void> {
    for (let page = 0; page < pagesPerRun; page += 1) {
      const { items, next } = await owner.unresolved(this.cursors.get(service));
      const late = await this.missing(items);
      if (late.length > 0 && !(await this.fetch(service, owner, late))) this.lacking.add(service);
      // Also past a page with one that cannot be fetched: it comes again when all pages were read.
      this.cursors.set(service, next);
      if (next === undefined) {
        if (!this.lacking.delete(service)) metrics.deadLetterCheckedAt.set({ service }, Date.now() / 1_000);
        return;
      }
    }
  }

  /** Those that have no letter for too long. */
  private async missing(items: readonly UnresolvedItem[]): Promise<UnresolvedItem[]> {
    const { db, lateAfterMs = 30_000, elapsedMs = () => performance.now() } = this.options;
    const identities = items.map(identityOf);
    const rows = await db.sql<{ identity: string }>('operator.known_letters', knownSql, [identities]);
    const known = new Set(rows.map(({ identity }) => identity));
    return items.filter((_, index) => {
      const identity = identities[index] as string;
      if (known.has(identity)) {
        this.missedSince.delete(identity);
        this.unfetched.delete(identity);
        return false;
      }
      const since = this.missedSince.get(identity) ?? elapsedMs();
      this.missedSince.set(identity, since);
      return elapsedMs() - since >= lateAfterMs;
    });
  }

  /** Fetches all at once, else one by one, so that one that cannot be fetched keeps back no other. True: all of them stand. */
  private async fetch(service: OwningService, owner: OwnerApi, late: readonly UnresolvedItem[]): Promise<boolean> {
    try {
      await this.fetchNow(service, owner, late);
      return true;
    } catch (err) {
      this.options.logger.warn({ err, component: service, count: late.length }, 'Missing dead letters could not be fetched together');
    }
    let failed = 0;
    // Those that failed before come last: however many they are, the others have their turn.
    const order = late.toSorted(
      (one, other) => Number(this.unfetched.has(identityOf(one))) - Number(this.unfetched.has(identityOf(other))),
    );
    for (const item of order) {
      try {
        await this.fetchNow(service, owner, [item]);
      } catch (err) {
        failed += 1;
        this.unfetched.add(identityOf(item));
        const { event_id, destination } = item;
        this.options.logger.error({ err, component: service, event_id, destination }, 'A missing dead letter could not be fetched');
        // By then it is rather the owner than the letters.
        if (failed >= failuresPerPage) break;
      }
    }
    return failed === 0;
  }

  private async fetchNow(service: OwningService, owner: OwnerApi, late: readonly UnresolvedItem[]): Promise<void> {
    const { db, site, logger } = this.options;
    const histories = await owner.histories(late.map(nameOf), true);
    const letters: Letter[] = [];
    for (const item of late) {
      const history = histories.find(({ event_id, destination }) => event_id === item.event_id && destination === item.destination);
      const letter = withHistory(await this.toLetter(service, item, history), history);
      letters.push({ ...letter, endpoint: endpointOf(site, item.destination) });
    }
    const stored = await storeLetters(db, letters);
    countStored(stored);
    metrics.deadLettersRecovered.inc({ service }, stored.length);
    for (const { identity } of letters) {
      this.missedSince.delete(identity);
      this.unfetched.delete(identity);
    }
    logger.warn({ component: service, count: stored.length }, 'Dead letters that never arrived were fetched from their owner');
  }

  private async toLetter(service: OwningService, item: UnresolvedItem, history: HistoryItem | undefined): Promise<Letter> {
    const { event_id, destination, lead_ref, since, submitted_at, deadline_at, code } = item;
    if (isRefused(item)) return refusedLetter(service, item);
    const bytes = history?.event === undefined ? undefined : Buffer.from(history.event, 'base64');
    const event = bytes && (await this.decode(service === 'notifier' ? LeadResolvedEvent : LeadAcceptedEvent, bytes));
    return {
      identity: identityOf(item),
      service,
      eventId: event_id,
      destination,
      leadRef: lead_ref,
      ...(event && aboutLead(event)),
      test: event?.test ?? false,
      class: classOf(item),
      code,
      attempts: 0,
      traceparent: history?.traceparent,
      submittedAt: new Date(submitted_at),
      deadlineAt: new Date(deadline_at),
      deadAt: new Date(since),
      operations: [],
      history: [],
      foundBy: 'check',
      schemaId: schemaIdOf(bytes),
      recordKey: event && history?.record_key !== undefined ? Buffer.from(history.record_key, 'base64') : undefined,
      event: event && bytes,
    };
  }

  private async decode(event: EventDescriptor<unknown>, bytes: Buffer): Promise<LeadAccepted | undefined> {
    return Promise.resolve()
      .then(() => this.options.codec.decode(event, bytes) as LeadAccepted)
      .catch(() => undefined);
  }
}

const nameOf = ({ event_id, destination }: UnresolvedItem) => ({ event_id, destination });

/** The class that the dead letter of such a state carries, whatever the last call came to. */
function classOf({ state, class: failure }: UnresolvedItem): string {
  if (state === 'expired') return 'deadline_exceeded';
  return state === 'uncertain' ? 'unverified_write' : (failure ?? 'permanent');
}

/** A record that intake refused: it became no lead, so nothing but its sealed original says whose it is. */
const isRefused = ({ destination }: UnresolvedItem): boolean => destination === refusedRecord;

/** As the record of the topic has it. */
function refusedLetter(service: OwningService, item: UnresolvedItem): Letter {
  return {
    identity: identityOf(item),
    service,
    eventId: item.event_id,
    destination: refusedRecord,
    test: false,
    class: classOf(item),
    code: item.code,
    reference: refusedReference(item.event_id),
    attempts: 0,
    deadAt: new Date(item.since),
    operations: [],
    history: [],
    foundBy: 'check',
  };
}

function identityOf(item: UnresolvedItem): string {
  const { event_id, destination, deadline_at } = item;
  if (isRefused(item)) return refusedIdentity(refusedReference(event_id));
  return deliveryIdentity({ eventId: event_id, destination, class: classOf(item), deadlineAt: new Date(deadline_at) });
}
