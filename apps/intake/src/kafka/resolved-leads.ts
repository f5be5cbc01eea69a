import { groups, type LeadResolved } from '#contracts';
import type { Received } from '#messaging';
import { type Coalescer, coalesce, type Logger, metrics, type Sql } from '#runtime';
import { isUuid } from '../is-uuid.js';
import { bisect } from '../store/bisect.js';
import { type AnnouncedState, updateStates } from '../store/update-states.js';
import { type DatabasePatience, Stopping } from './database-patience.js';

type Resolved = Received<LeadResolved>;

interface Tools {
  db: Sql;
  logger: Logger;
  patience: DatabasePatience;
}

const maxBatch = 256;

/** Keeps what intake last knew of each delivery up to date, for the times when its owner cannot be asked. */
export class ResolvedLeads {
  private readonly take: Coalescer<Resolved, void>;

  constructor(private readonly tools: Tools) {
    this.take = coalesce({ maxBatch, maxWaitMs: 0, maxInFlight: 1, run: (batch) => this.untilSettled(batch) });
  }

  /** Resolves once all are settled. Throws where the fault is ours; nothing is settled then. */
  async handle(received: readonly Resolved[]): Promise<void> {
    await Promise.all(received.map((one) => this.take(one)));
  }

  private async untilSettled(batch: Resolved[]): Promise<undefined[]> {
    try {
      await this.tools.patience.untilDone(() => this.settle(batch));
    } catch (error) {
      if (!(error instanceof Stopping)) throw error;
    }
    return batch.map(() => undefined);
  }

  private async settle(batch: Resolved[]): Promise<void> {
    const live = batch.filter(({ receipt }) => !receipt.stale);
    const states = live.flatMap((received) => this.stateOf(received));
    await bisect(
      states,
      async (part) => {
        await updateStates(this.tools.db, part);
      },
      (refused, sqlState) =>
        this.tools.logger.error({ event_id: refused.eventId, destination: refused.destination, error_code: sqlState }, 'State not stored'),
    );
    for (const { receipt } of live) receipt.settle();
  }

  private stateOf(received: Resolved): AnnouncedState[] {
    const { result } = received;
    if (!result.ok) return this.unreadable(received, result.reason);
    return isUuid(result.event.event_id) ? [toState(result.event)] : this.unreadable(received, 'event_id');
  }

  /** Our own services' fault, and nothing in it to store: named in the log, counted, passed. */
  private unreadable({ receipt }: Resolved, reason: string): AnnouncedState[] {
    const { topic, partition, offset } = receipt.record;
    metrics.decodeFailures.inc({ group: groups.intakeStates, reason });
    this.tools.logger.error({ topic, partition, offset, reason }, 'A state announcement cannot be read');
    return [];
  }
}

function toState(event: LeadResolved): AnnouncedState {
  return {
    eventId: event.event_id,
    destination: event.destination,
    state: event.outcome,
    class: event.error_class,
    code: event.error_code,
    generation: event.generation,
    operations: event.operations.map(({ kind, state, ref }) => ({ kind, state, ...(ref !== null && { ref }) })),
    resolvedAt: event.resolved_at,
  };
}
