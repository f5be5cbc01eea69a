import { headers, type LeadAccepted, operationKey } from '#contracts';
import type { Outcome, PerformContext, PlannedDelivery, PlannedOperation, ResolvedDelivery, Target } from '#delivery';
import type { Connector } from '#destinations';
import type { Codec, ConsumedRecord, OutboxRow } from '#messaging';
import type { DestinationConfig } from '#runtime';
import { resolutionRow } from './resolution.js';

export interface DestinationTargetOptions {
  config: DestinationConfig;
  connector: Connector;
  codec: Codec;
}

/** One destination as the delivery engine sees it: which leads are its, how each operation is performed, what is announced. */
export class DestinationTarget implements Target<LeadAccepted> {
  readonly name: string;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly nativeIdempotency: boolean;

  constructor(private readonly options: DestinationTargetOptions) {
    const { config, connector } = options;
    this.name = config.name;
    this.concurrency = config.concurrency;
    this.timeoutMs = config.timeoutMs;
    this.nativeIdempotency = connector.capabilities.nativeIdempotency;
  }

  /** @throws when routing and this destination's rules disagree: such a lead must not be sent. */
  plan(event: LeadAccepted): PlannedDelivery | undefined {
    const { config } = this.options;
    if (!event.destinations.includes(this.name)) return undefined;
    if (event.test && !config.sandbox) throw new Error('a test lead was routed to a destination that is no sandbox');
    if (config.requiresConsent && !event.consent) throw new Error('a lead without consent was routed to a destination that requires it');
    return {
      eventId: event.event_id,
      destination: this.name,
      leadRef: event.lead_ref,
      submittedAt: event.submitted_at,
      deadlineAt: event.deadline_at,
      operations: config.operations.map((kind) => ({ kind, operationKey: operationKey(event.event_id, this.name, kind) })),
      needsVault: true,
      test: event.test,
    };
  }

  perform(operation: PlannedOperation, { event, payload, refs, pinned, trace, timeoutMs }: PerformContext<LeadAccepted>): Promise<Outcome> {
    if (payload === undefined) throw new Error('the vault was not read');
    return this.options.connector.perform({ ...operation, event, payload, refs, pinned, trace, timeoutMs });
  }

  resolved(delivery: ResolvedDelivery<LeadAccepted>): OutboxRow[] {
    return [resolutionRow(delivery, { codec: this.options.codec, primary: this.options.config.primary })];
  }
}

/** Whether a record can be for a destination, by its header alone. One without the header has to be decoded to be sure. */
export function mayBeFor(destination: string, record: ConsumedRecord): boolean {
  const named = record.headers[headers.destinations];
  return named === undefined || named.toString().split(',').includes(destination);
}
