import type { LeadAccepted, LeadResolved } from '#contracts';
import type { HistoryItem } from '#delivery';

/** Services whose deliveries end as dead letters. */
export type OwningService = 'intake' | 'crm-writer' | 'notifier';

/** What a person must decide on, before it is stored. */
export interface Letter {
  /** Equal for every copy of the same dead letter, whichever way it came. */
  identity: string;
  service: OwningService;
  eventId?: string;
  destination?: string;
  leadRef?: string;
  organization?: string;
  source?: string;
  form?: string;
  campaign?: string;
  /** Keyed hash of the source's own id. */
  submissionRef?: string;
  policy?: string;
  test: boolean;
  operationKey?: string;
  operationKind?: string;
  endpoint?: string;
  class: string;
  code?: string;
  status?: number;
  /** Where a sealed original lies, or the destination's reference. */
  reference?: string;
  attempts: number;
  providerRequestId?: string;
  traceparent?: string;
  tracestate?: string;
  submittedAt?: Date;
  firstSeenAt?: Date;
  deadlineAt?: Date;
  /** When it was handed over to the dead-letter topic. */
  deadAt: Date;
  operations: HistoryItem['operations'];
  /** Every call of a destination, as the owner keeps it: no personal data. */
  history: HistoryItem['attempts'];
  /** `check`: it was missing here and its owner named it. */
  foundBy: 'topic' | 'check';
  at?: Coordinates;
  origin?: Coordinates;
  recordKey?: Buffer;
  /** Of the schema that the record was written with. */
  schemaId?: number;
  /** Bytes of a public event that could be read; never others. */
  event?: Buffer;
}

export interface Coordinates {
  topic: string;
  partition: number;
  offset: bigint;
}

/** Identity of the end of a delivery: an approved item brings a new deadline, so each round has its own. */
export function deliveryIdentity(end: { eventId: string; destination: string; class: string; deadlineAt?: Date }): string {
  return `delivery:${end.eventId.toLowerCase()}:${end.deadlineAt?.getTime() ?? 0}:${end.class}:${end.destination}`;
}

/** Where intake keeps the sealed original of a refused record. */
export const refusedReference = (rejectedId: string): string => `rejected:${rejectedId}`;

/** A lead that was refused is known by its sealed original: it has one end. */
export const refusedIdentity = (reference: string): string => `reference:${reference}`;

/** What a public event tells about the lead. */
export type Told = Partial<Pick<LeadAccepted, 'source_event_ref' | 'policy' | 'deadline_at'>> &
  Pick<LeadAccepted | LeadResolved, 'event_id' | 'lead_ref' | 'organization' | 'source' | 'form' | 'campaign' | 'submitted_at' | 'test'>;

/** Where the lead came from, by names and references. */
export function aboutLead(event: Told): Pick<Letter, 'organization' | 'source' | 'form' | 'campaign' | 'submissionRef' | 'policy'> {
  return {
    organization: event.organization,
    source: event.source,
    form: event.form ?? undefined,
    campaign: event.campaign ?? undefined,
    submissionRef: event.source_event_ref,
    policy: event.policy,
  };
}
