import { headers, type LeadAccepted, operationKey } from '#contracts';
import {
  type Backoff,
  type ComparedOperation,
  changedSince,
  type LookupContext,
  type LookupResult,
  type OlderRecord,
  type Outcome,
  type PerformContext,
  type PlannedDelivery,
  type PlannedOperation,
  type RecordsRead,
  type ResolvedDelivery,
  recordOf,
  type SinceCompared,
  type Target,
  type Verification,
  type VerifiedTarget,
} from '#delivery';
import type { Connector, ReadAnswer } from '#destinations';
import type { Codec, ConsumedRecord, OutboxRow } from '#messaging';
import type { DestinationConfig, Site } from '#runtime';
import { resolutionRow } from './resolution.js';

export interface DestinationTargetOptions {
  config: DestinationConfig;
  policies: Site['policies'];
  connector: Connector;
  codec: Codec;
}

/** The operation that writes the person's record: one lead of a person at a time. */
const contactKind = 'contact';

/** One destination as the delivery engine sees it: which leads are its, how each operation is performed, what is announced. */
export class DestinationTarget implements Target<LeadAccepted> {
  readonly name: string;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly nativeIdempotency: boolean;
  readonly verification: Verification;
  readonly backoff: Backoff;
  readonly check?: Target<LeadAccepted>['check'];

  constructor(private readonly options: DestinationTargetOptions) {
    const { config, connector } = options;
    this.name = config.name;
    this.concurrency = config.concurrency;
    this.timeoutMs = config.timeoutMs;
    this.nativeIdempotency = connector.capabilities.nativeIdempotency;
    this.verification = verificationOf(config);
    this.backoff = config.backoff;
    const { check } = connector;
    if (check !== undefined) this.check = () => check.call(connector);
  }

  plan(event: LeadAccepted, record: ConsumedRecord): PlannedDelivery | undefined {
    const { config, policies } = this.options;
    if (!event.destinations.includes(this.name)) return undefined;
    return {
      eventId: event.event_id,
      destination: this.name,
      leadRef: event.lead_ref,
      submittedAt: event.submitted_at,
      deadlineAt: event.deadline_at,
      operations: plannedOperations(config, event.event_id),
      needsVault: true,
      needsConsent: config.requiresConsent,
      refused: refusalOf(event, config),
      test: event.test,
      attempts: attemptsOf(policies, event),
      contact:
        record.key !== null && config.operations.includes(contactKind)
          ? { kind: contactKind, personKey: record.key.toString() }
          : undefined,
    };
  }

  perform(operation: PlannedOperation, context: PerformContext<LeadAccepted>): Promise<Outcome> {
    const { event, payload, refs, pinned, contact, compared, trace, timeoutMs } = context;
    if (payload === undefined) throw new Error('the vault was not read');
    return this.options.connector.perform({ ...operation, event, payload, refs, pinned, contact, compared, trace, timeoutMs });
  }

  contactFields(event: LeadAccepted, payload: PerformContext<LeadAccepted>['payload']): readonly string[] {
    return payload === undefined ? [] : this.options.connector.contactFields(event, payload);
  }

  repeatable({ kind }: PlannedOperation, contact: PerformContext<LeadAccepted>['contact']): boolean {
    return this.options.connector.repeatable(kind, contact);
  }

  lookup({ kind }: PlannedOperation, context: LookupContext): Promise<LookupResult> {
    return this.options.connector.lookup({ kind, ...context });
  }

  older(kind: string): OlderRecord | undefined {
    return this.options.connector.older?.(kind);
  }

  /** Absent where the destination cannot be read. */
  get read(): VerifiedTarget['read'] {
    const { connector } = this.options;
    return connector.readMany === undefined ? undefined : async (query) => withoutFields(await connector.readMany?.(query));
  }

  async sinceCompared({ kind, ref = '', compared }: ComparedOperation, withinMs: number): Promise<SinceCompared> {
    const timeoutMs = Math.min(this.options.config.lookupTimeoutMs, withinMs);
    const answer = await this.read?.({ kind, refs: [ref], timeoutMs }).catch(() => undefined);
    return changedSince(recordOf(answer, ref), compared);
  }

  canLookUp(kind: string): boolean {
    return this.options.connector.capabilities.lookup.includes(kind);
  }

  resolved(delivery: ResolvedDelivery<LeadAccepted>): OutboxRow[] {
    return [resolutionRow(delivery, { codec: this.options.codec, primary: this.options.config.primary })];
  }
}

/** What is in the records goes no further. */
function withoutFields(answer: ReadAnswer | undefined): RecordsRead {
  if (answer === undefined) return { ok: false, class: 'unknown', code: 'no_read' };
  if (!answer.ok) return { ok: false, class: answer.class, code: answer.code };
  return { ok: true, records: answer.records.map(({ ref, version, changedAt, changedBy }) => ({ ref, version, changedAt, changedBy })) };
}

/** Intake routes by these rules too, so that the site file has changed since the lead was accepted: it is not sent, and ends where people see it. */
function refusalOf(event: LeadAccepted, config: DestinationConfig): PlannedDelivery['refused'] {
  if (event.test && !config.sandbox) return { class: 'invalid', code: 'no_sandbox' };
  return config.requiresConsent && !event.consent ? { class: 'invalid', code: 'no_consent' } : undefined;
}

/** The operations of one lead at a destination, under keys that never change. */
export function plannedOperations(config: Pick<DestinationConfig, 'name' | 'operations'>, eventId: string): PlannedOperation[] {
  return config.operations.map((kind) => ({ kind, operationKey: operationKey(eventId, config.name, kind) }));
}

/** Calls of one operation at most, by the lead's policy; one that is not configured any more counts as the default. */
export function attemptsOf(policies: Site['policies'], { policy }: Pick<LeadAccepted, 'policy'>): number {
  return (policies[policy] ?? policies.default).attempts;
}

export function verificationOf(config: DestinationConfig): Verification {
  return { maxExecutionMs: config.maxExecutionMs, searchLagMs: config.searchLagMs, horizonMs: config.uncertainHorizonMs };
}

/** Whether a record can be for a destination, by its header alone. One without the header has to be decoded to be sure. */
export function mayBeFor(destination: string, record: ConsumedRecord): boolean {
  const named = record.headers[headers.destinations];
  return named === undefined || named.toString().split(',').includes(destination);
}
