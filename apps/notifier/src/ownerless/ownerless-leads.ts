import { type LeadResolved, notificationName } from '#contracts';
import { type DeadLetterInput, deadLetterRow, type HistoryItem, type UnresolvedItem } from '#delivery';
import { insertOutbox, type Received } from '#messaging';
import { type Column, columnValues, type Database, type Site, type Sql, unnestColumns } from '#runtime';
import { plannedOperations } from '../notifier-target.js';
import { decideTelling, type TellableChannel } from '../telling/decide-telling.js';
import { telling } from '../telling-limits.js';

export interface OwnerlessOptions {
  db: Database;
  site: Pick<Site, 'routing' | 'owners'>;
  channels: ReadonlyMap<string, TellableChannel>;
  /** Topic of the group's dead letters. */
  dlqTopic: string;
  relayWake: () => void;
}

/** Stands for the notification in a letter about a lead that nobody can be told of. */
const noNotification = 'ownerless';
const why = { class: 'unknown_owner', code: 'no_owner' } as const;

interface OwnerlessLead {
  event: LeadResolved;
  letter: DeadLetterInput & { eventId: string; destination: string; deadlineAtMs: number; value: Buffer };
}

const columns: readonly Column<OwnerlessLead>[] = [
  ['event_id', 'uuid', ({ letter }) => letter.eventId],
  ['destination', 'text', ({ letter }) => letter.destination],
  ['lead_ref', 'text', ({ event }) => event.lead_ref],
  ['submitted_at', 'timestamptz', ({ event }) => event.submitted_at],
  ['deadline_at', 'timestamptz', ({ letter }) => new Date(letter.deadlineAtMs)],
  ['event', 'bytea', ({ letter }) => letter.value],
  ['traceparent', 'text', ({ letter }) => letter.traceparent],
];
const columnNames = columns.map(([name]) => name).join(', ');

const noteSql = `
INSERT INTO ownerless_lead (${columnNames}) SELECT ${columnNames} FROM ${unnestColumns('i', columns)} ORDER BY event_id
ON CONFLICT (event_id) DO NOTHING RETURNING event_id`;

/**
 * Leads that belong to nobody. A message about one may stay uncertain, be held or have no channel; the letter that asks somebody to find the
 * owner does not wait for that: it is written once, before anything is sent.
 */
export class OwnerlessLeads {
  constructor(private readonly options: OwnerlessOptions) {}

  /** Whether it has to be noted before it is told. */
  isOne(event: LeadResolved): boolean {
    return decideTelling(this.options.site, this.options.channels, event).unknownOwner === true;
  }

  /** Notes those that are not known yet, each with its dead letter. Throws DatabaseUnavailable, StatementFailed. */
  async note(received: readonly Received<LeadResolved>[]): Promise<void> {
    const leads = [...new Map(received.flatMap((one) => this.toLead(one)).map((lead) => [lead.letter.eventId, lead])).values()];
    if (leads.length === 0) return;
    const noted = await this.options.db.transaction(async (tx) => {
      const rows = await tx.sql<{ event_id: string }>('notifier.note_ownerless', noteSql, columnValues(columns, leads));
      const added = new Set(rows.map(({ event_id }) => event_id));
      const letters = leads.filter(({ letter }) => added.has(letter.eventId)).map(({ letter }) => deadLetterRow(letter));
      await insertOutbox(tx, letters);
      return letters.length;
    });
    if (noted > 0) this.options.relayWake();
  }

  private toLead({ receipt: { record }, result }: Received<LeadResolved>): OwnerlessLead[] {
    if (!result.ok || record.value === null || !this.isOne(result.event)) return [];
    const { event } = result;
    const eventId = event.event_id.toLowerCase();
    const destination = this.nameOf(event);
    const letter = {
      topic: this.options.dlqTopic,
      key: record.key,
      value: record.value,
      eventId,
      destination: destination ?? noNotification,
      operationKey: destination === undefined ? undefined : plannedOperations(event.event_id, destination)[0]?.operationKey,
      attempts: 0,
      firstSeenAtMs: record.timestampMs,
      deadlineAtMs: event.resolved_at.getTime() + telling.usefulForMs,
      traceparent: record.headers.traceparent?.toString(),
      tracestate: record.headers.tracestate?.toString(),
      ...why,
    };
    return [{ event, letter }];
  }

  /** Of the notification; undefined where nobody is told. */
  private nameOf(event: LeadResolved): string | undefined {
    const decided = decideTelling(this.options.site, this.options.channels, event);
    if (!decided.tell) return undefined;
    const { channel, recipientKey, template } = decided;
    return notificationName({ scope: 'lead', channel, recipientKey, template });
  }
}

interface OwnerlessRow {
  event_id: string;
  destination: string;
  lead_ref: string;
  submitted_at: Date;
  deadline_at: Date;
  noted_at: Date;
}

/** A letter that was closed is deleted after 40 days; whoever misses it then would ask a person once more. */
const unresolvedSql = `
SELECT event_id, destination, lead_ref, submitted_at, deadline_at, noted_at FROM ownerless_lead
WHERE noted_at > (SELECT clock_now()) - interval '39 days' AND event_id > $1 ORDER BY event_id LIMIT $2`;

/** Those after an event id, in the order of acceptance, as what a person is to decide about. Throws DatabaseUnavailable. */
export async function ownerlessAfter(db: Sql, after: string, limit: number): Promise<UnresolvedItem[]> {
  const rows = await db.sql<OwnerlessRow>('notifier.ownerless', unresolvedSql, [after, limit]);
  return rows.map(({ noted_at, submitted_at, deadline_at, ...names }) => ({
    ...names,
    ...why,
    state: 'dead',
    generation: 1,
    since: noted_at.toISOString(),
    submitted_at: submitted_at.toISOString(),
    deadline_at: deadline_at.toISOString(),
  }));
}

/** As long as the letter of one is kept. */
export const purgeOwnerlessSql = `
DELETE FROM ownerless_lead WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM ownerless_lead WHERE noted_at < (SELECT clock_now()) - interval '40 days'
  ORDER BY noted_at LIMIT $1 FOR UPDATE SKIP LOCKED))
RETURNING 1`;

/** Deletes a batch of those over their time; part of the purge. Gives how many. Throws DatabaseUnavailable. */
export async function purgeOwnerless(db: Sql, limit: number): Promise<number> {
  return (await db.sql('notifier.purge_ownerless', purgeOwnerlessSql, [limit])).length;
}

const historiesSql = `
SELECT o.event_id, o.destination, o.submitted_at, o.deadline_at, o.noted_at, o.event, o.traceparent FROM unnest($1::uuid[], $2::text[]) AS i(event_id, destination)
JOIN ownerless_lead o ON o.event_id = i.event_id AND o.destination = i.destination`;

/** What is known of those whose message was never claimed: no call was made of it. `records`: with the event. Throws DatabaseUnavailable. */
export async function ownerlessHistories(
  db: Sql,
  names: readonly { event_id: string; destination?: string }[],
  records: boolean,
): Promise<HistoryItem[]> {
  if (names.length === 0) return [];
  const values = [names.map(({ event_id }) => event_id), names.map(({ destination }) => destination ?? null)];
  type Row = OwnerlessRow & { event: Buffer; traceparent: string | null };
  const rows = await db.sql<Row>('notifier.ownerless_histories', historiesSql, values);
  return rows.map(({ event_id, destination, submitted_at, deadline_at, noted_at, event, traceparent }) => ({
    event_id,
    destination,
    ...why,
    state: 'dead',
    generation: 1,
    submitted_at: submitted_at.toISOString(),
    deadline_at: deadline_at.toISOString(),
    updated_at: noted_at.toISOString(),
    operations: [],
    attempts: [],
    ...(records && { event: event.toString('base64'), traceparent: traceparent ?? undefined }),
  }));
}
