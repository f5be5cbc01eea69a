import { randomUUID } from 'node:crypto';
import { type EventDescriptor, headers, type LeadAccepted, LeadAcceptedEvent, LeadResolvedEvent, operationKey } from '#contracts';
import type {
  CommandAnswer,
  CommandRequest,
  DeliveryStateItem,
  DestinationsAnswer,
  FindAnswer,
  FindRequest,
  HistoryItem,
  UnresolvedItem,
} from '#delivery';
import { type ConsumedRecord, createCodec, type KnownSchema } from '#messaging';
import { createLogger, type Database, InternalUnavailable, migrateService, newEventId, newLeadRef, openDatabase } from '#runtime';
import { migrations } from '../src/migrations/index.js';
import type { OwnerApi } from '../src/owners/owner-api.js';
import { operatorDatabaseSettings } from '../src/storage.js';

export const silent = createLogger('operator', 'silent');

const known = [LeadAcceptedEvent, LeadResolvedEvent].map(
  (event: EventDescriptor<unknown>, index): KnownSchema => ({
    subject: event.subject,
    version: event.schemaVersion,
    id: index + 1,
    schema: event.schema,
  }),
);
/** Knows the contracts under ids of its own. */
export const codec = createCodec({ known });

/** Makes operator's tables in an empty database and connects as its role. */
export async function openOperatorDatabase(url: string): Promise<Database> {
  await migrateService({ url, service: 'operator', migrations });
  return openDatabase({ url, role: 'ld_operator', schema: 'operator', applicationName: 'spec', settings: operatorDatabaseSettings });
}

/** A lead as intake announces it, submitted a minute ago. */
export function leadAccepted(changes: Partial<LeadAccepted> = {}): LeadAccepted {
  const submittedAt = new Date(Date.now() - 60_000);
  return {
    event_id: newEventId(),
    event_type: 'lead.accepted',
    version: 1,
    lead_ref: newLeadRef(),
    organization: 'demo',
    source: 'website',
    source_event_ref: 'v1:submission',
    form: 'contact',
    campaign: 'autumn',
    submitted_at: submittedAt,
    accepted_at: submittedAt,
    deadline_at: new Date(submittedAt.getTime() + 4 * 3_600_000),
    policy: 'default',
    payload_hmac: 'v1:00',
    consent: true,
    test: false,
    destinations: ['crm'],
    ...changes,
  };
}

export const traceId = '0af7651916cd43dd8448eb211c80319c';

/** Headers of the dead letter that the delivery's owner writes. */
export function deadLetterHeaders(lead: LeadAccepted, changes: Record<string, string | undefined> = {}): Record<string, string> {
  const all = {
    [headers.eventId]: lead.event_id,
    [headers.destinations]: 'crm',
    [headers.deadlineAt]: String(lead.deadline_at.getTime()),
    [headers.originTopic]: 'lead.accepted',
    [headers.originPartition]: '3',
    [headers.originOffset]: '77',
    [headers.operationKey]: operationKey(lead.event_id, 'crm', 'lead'),
    [headers.attempts]: '4',
    [headers.firstSeenAt]: String(lead.submitted_at.getTime() + 500),
    [headers.errorClass]: 'attempts_exhausted',
    [headers.errorCode]: 'http_503',
    [headers.errorStatus]: '503',
    [headers.traceparent]: `00-${traceId}-b7ad6b7169203331-01`,
    ...changes,
  };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** A record of the dead-letter topic of `crm`. */
export function deadRecord(
  lead: LeadAccepted,
  changes: Partial<Omit<ConsumedRecord, 'headers'>> & { headers?: Record<string, string> } = {},
) {
  const { headers: texts = deadLetterHeaders(lead), ...rest } = changes;
  return {
    topic: 'lead.accepted.crm-writer.crm.dlq',
    partition: 0,
    offset: 1n,
    key: Buffer.from('person'),
    value: codec.encode(LeadAcceptedEvent, lead),
    headers: Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)])),
    timestampMs: Date.now(),
    ...rest,
  } satisfies ConsumedRecord;
}

/** What the owner keeps of a delivery whose operation `lead` was called twice and died. */
export function historyOf(lead: LeadAccepted, changes: Partial<HistoryItem> = {}): HistoryItem {
  const [contact, main] = ['contact', 'lead'].map((kind) => operationKey(lead.event_id, 'crm', kind)) as [string, string];
  const call = (operation_key: string, number: number, more: Partial<HistoryItem['attempts'][number]>) => ({
    operation_key,
    attempt_id: randomUUID(),
    number,
    started_at: new Date(lead.submitted_at.getTime() + number * 1_000).toISOString(),
    duration_ms: 12,
    outcome: 'transient',
    trace_id: traceId,
    late: false,
    ...more,
  });
  return {
    event_id: lead.event_id,
    destination: 'crm',
    state: 'dead',
    class: 'attempts_exhausted',
    code: 'http_503',
    submitted_at: lead.submitted_at.toISOString(),
    deadline_at: lead.deadline_at.toISOString(),
    generation: 1,
    operations: [
      { operation_key: contact, kind: 'contact', state: 'succeeded', ref: 'C-1', attempts: 1 },
      { operation_key: main, kind: 'lead', state: 'dead', attempts: 4 },
    ],
    attempts: [
      call(contact, 1, { outcome: 'succeeded', status: 201, ref: 'C-1', provider_request_id: 'req-contact' }),
      call(main, 3, { code: 'http_503', status: 503, provider_request_id: 'req-3' }),
      call(main, 4, { code: 'timeout' }),
    ],
    ...changes,
  };
}

/** A service that owns deliveries, as the test tells it. */
export class PretendOwner implements OwnerApi {
  down = false;
  readonly asked = { histories: 0, states: 0, unresolved: 0 };
  readonly known = new Map<string, HistoryItem>();
  unresolvedItems: UnresolvedItem[] = [];
  readonly commands: CommandRequest[] = [];
  pageSize = 500;
  /** Event ids whose history it fails on, whatever else is asked for with them. */
  readonly unanswerable = new Set<string>();

  /** Knows the delivery from now on. */
  add(history: HistoryItem): HistoryItem {
    this.known.set(`${history.event_id} ${history.destination}`, history);
    return history;
  }

  async histories(names: readonly { event_id: string; destination?: string }[]): Promise<HistoryItem[]> {
    this.answer('histories');
    if (names.some(({ event_id }) => this.unanswerable.has(event_id))) throw new InternalUnavailable('histories answered 500');
    const known = [...this.known.values()];
    return names.flatMap(({ event_id, destination }) =>
      known.filter((one) => one.event_id === event_id && (destination === undefined || one.destination === destination)),
    );
  }

  async find({ kind, value }: FindRequest): Promise<FindAnswer> {
    this.answer('states');
    const field = kind === 'destination_ref' ? 'ref' : kind;
    const found = [...this.known.values()].flatMap(({ event_id, destination, attempts }) =>
      attempts.filter((attempt) => attempt[field] === value).map(({ operation_key }) => ({ event_id, destination, operation_key })),
    );
    return { items: found };
  }

  async states(names: readonly { event_id: string; destination: string }[]): Promise<(DeliveryStateItem | undefined)[]> {
    this.answer('states');
    return names.map(({ event_id, destination }) => {
      const found = this.known.get(`${event_id} ${destination}`);
      return found && { ...found, as_of: new Date().toISOString(), complete: true };
    });
  }

  async unresolved(after: string | undefined) {
    this.answer('unresolved');
    const from = Number(after ?? 0);
    const items = this.unresolvedItems.slice(from, from + this.pageSize);
    return { items, ...(items.length === this.pageSize && { next: String(from + this.pageSize) }) };
  }

  async destinations(): Promise<DestinationsAnswer> {
    this.answer('states');
    return { items: [] };
  }

  async command(command: CommandRequest): Promise<CommandAnswer> {
    this.answer('states');
    this.commands.push(command);
    return { applied: true, state: 'discarded' };
  }

  private answer(what: keyof PretendOwner['asked']): void {
    this.asked[what] += 1;
    if (this.down) throw new InternalUnavailable('down');
  }
}
