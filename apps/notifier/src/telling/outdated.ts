import { randomUUID } from 'node:crypto';
import { type DeliveryState, type LeadResolved, notificationName } from '#contracts';
import { lockStored, type StoredChange, type StoredDelivery, settle } from '#delivery';
import type { Received } from '#messaging';
import { type Column, columnValues, type Database, type Logger, metrics, type Site, type Sql, unnestColumns } from '#runtime';
import { telling } from '../telling-limits.js';
import { decideTelling, deliveredTemplate, type TellableChannel } from './decide-telling.js';
import { logNotTold } from './not-told.js';

export interface OutdatedOptions {
  db: Database;
  site: Pick<Site, 'routing' | 'owners'>;
  channels: ReadonlyMap<string, TellableChannel>;
  /** An approved item that comes on it is for the engine to apply first: its batch waits for that. */
  replayTopic: string;
  logger: Logger;
}

/** Why such a message is not sent: code of its delivery, and of `leads_notifications_total`. */
const superseded = 'superseded';

type Told = Pick<LeadResolved, 'event_id' | 'resolved_at'>;
const columns: readonly Column<Told>[] = [
  ['event_id', 'uuid', ({ event_id }) => event_id],
  ['deadline_at', 'timestamptz', ({ resolved_at }) => new Date(resolved_at.getTime() + telling.usefulForMs)],
];

/** The deadline counts from the outcome: the later outcome has the later one, and an approval leaves the first beside it. */
const laterSql = `
SELECT i.position::int AS position FROM ${unnestColumns('i', columns)}
WHERE EXISTS (SELECT FROM delivery d WHERE d.event_id = i.event_id AND d.destination LIKE '%/${deliveredTemplate}'
  AND coalesce(d.original_deadline_at, d.deadline_at) > i.deadline_at)`;

/** Which of them were delivered after all, by index: a message about that is at work, has been sent or may have been. Throws DatabaseUnavailable. */
async function deliveredLater(db: Sql, events: readonly Told[]): Promise<Set<number>> {
  const rows = await db.sql<{ position: number }>('notifier.delivered_later', laterSql, columnValues(columns, events));
  return new Set(rows.map(({ position }) => position - 1));
}

/** Whether it says that a lead failed. */
const isFailure = (event: LeadResolved): boolean => event.outcome !== 'delivered';

const waiting: readonly DeliveryState[] = ['pending', 'waiting', 'held'];

/**
 * That a lead failed is no news any more once it is told that it was delivered: where the chat was down over both, or the first message
 * waited for another reason, it ends `discarded`, code `superseded`, without a call.
 */
export class OutdatedTellings {
  constructor(private readonly options: OutdatedOptions) {}

  /** Whether it has to be looked at before it is told. */
  mayBe({ receipt, result }: Received<LeadResolved>): boolean {
    if (!result.ok || !isFailure(result.event) || receipt.record.topic === this.options.replayTopic) return false;
    return decideTelling(this.options.site, this.options.channels, result.event).tell;
  }

  /** Ends what is outdated and waits, or was never claimed, and gives it: those records are done with. Throws DatabaseUnavailable, StatementFailed. */
  async end(received: readonly Received<LeadResolved>[]): Promise<Set<Received<LeadResolved>>> {
    const asked = received.filter((one) => this.mayBe(one));
    const events = asked.flatMap(({ result }) => (result.ok ? [result.event] : []));
    if (events.length === 0) return new Set();
    const later = await deliveredLater(this.options.db, events);
    const ended = new Set<Received<LeadResolved>>();
    for (const [index, one] of asked.entries()) {
      if (later.has(index) && one.result.ok && (await this.endOne(one.result.event))) ended.add(one);
    }
    return ended;
  }

  /** Whether a message must not go out although its record was taken on before it was outdated. Throws DatabaseUnavailable. */
  async isOne(event: LeadResolved): Promise<boolean> {
    return isFailure(event) && (await deliveredLater(this.options.db, [event])).size > 0;
  }

  /** False: its message was sent, may have been, is being sent or is for a person to decide about. */
  private async endOne(event: LeadResolved): Promise<boolean> {
    const { db, site, channels, logger } = this.options;
    const decided = decideTelling(site, channels, event);
    if (!decided.tell) return false;
    const { channel, recipientKey, template } = decided;
    const destination = notificationName({ scope: 'lead', channel, recipientKey, template });
    const ended = await db.transaction(async (tx) => {
      const stored = await lockStored(tx, { eventId: event.event_id, destination });
      if (stored === undefined) return true;
      const waits = waiting.includes(stored.state);
      if (waits) await settle(tx, [discarded(stored)], []);
      return waits;
    });
    if (!ended) return false;
    if (!event.test) metrics.notifications.inc({ channel, outcome: superseded });
    logNotTold(logger, event, { destination, channel, reason: superseded });
    return true;
  }
}

function discarded(stored: StoredDelivery): StoredChange {
  const operations = stored.operations.map((operation) => ({
    operation,
    state: 'discarded' as const,
    code: superseded,
    note: { attemptId: randomUUID(), number: operation.attempts, startedAgoMs: 0, outcome: 'discarded', code: superseded },
  }));
  return { stored, state: 'discarded', code: superseded, operations };
}
