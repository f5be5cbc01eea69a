import { type EventDescriptor, type LeadAccepted, LeadAcceptedEvent, LeadResolvedEvent } from '#contracts';
import type { HistoryItem, UnresolvedItem } from '#delivery';
import type { Codec } from '#messaging';
import { type Logger, metrics, type Site, type Sql } from '#runtime';
import type { OwnerApi } from '../owners/owner-api.js';
import { countStored } from './count-letters.js';
import { aboutLead, deliveryIdentity, type Letter, type OwningService } from './letter.js';
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

const knownSql = 'SELECT identity FROM dead_letter WHERE identity = ANY ($1::text[])';

/**
 * Holds what the owners say is unresolved against the table: delivery to the dead-letter topic is not taken on trust. What is missing for
 * longer than half a minute is fetched from its owner and stored.
 */
export class DeliveryCheck {
  private readonly cursors = new Map<string, string | undefined>();
  /** By identity: since when it is missed. */
  private readonly missedSince = new Map<string, number>();

  constructor(private readonly options: DeliveryCheckOptions) {}

  /** One run over the owners; one that does not answer does not hold up the others. Rejects with DatabaseUnavailable alone. */
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
      if (late.length > 0) await this.fetch(service, owner, late);
      this.cursors.set(service, next);
      if (next === undefined) {
        metrics.deadLetterCheckedAt.set({ service }, Date.now() / 1_000);
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
        return false;
      }
      const since = this.missedSince.get(identity) ?? elapsedMs();
      this.missedSince.set(identity, since);
      return elapsedMs() - since >= lateAfterMs;
    });
  }

  private async fetch(service: OwningService, owner: OwnerApi, late: readonly UnresolvedItem[]): Promise<void> {
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
    for (const { identity } of letters) this.missedSince.delete(identity);
    logger.warn({ component: service, count: stored.length }, 'Dead letters that never arrived were fetched from their owner');
  }

  private async toLetter(service: OwningService, item: UnresolvedItem, history: HistoryItem | undefined): Promise<Letter> {
    const { event_id, destination, lead_ref, since, submitted_at, deadline_at, code } = item;
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

function identityOf(item: UnresolvedItem): string {
  const { event_id, destination, deadline_at } = item;
  return deliveryIdentity({ eventId: event_id, destination, class: classOf(item), deadlineAt: new Date(deadline_at) });
}
