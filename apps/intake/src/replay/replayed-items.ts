import { refusedRecord, unrouted } from '#contracts';
import type { Permit, ReplayGate } from '#delivery';
import { type ConsumedRecord, type Receipt, type Received, RegistryUnavailable } from '#messaging';
import { DatabaseUnavailable, type Logger, parseTraceContext, type Span, StatementFailed } from '#runtime';
import { type DecideTools, decideAgain } from './decide-again.js';
import { type Decision, ItemKnown, noteItem } from './item.js';
import { routeAgain } from './route-again.js';

export interface ReplayTools extends DecideTools {
  /** Topic that approved items travel on. */
  topic: string;
  /** Absent: every item is refused. */
  gate?: ReplayGate;
  relayWake: () => void;
  logger: Logger;
}

/** While PostgreSQL or the registry is away. */
const againMs = 1_000;

/**
 * Approved items for leads without a route and for refused records. Each is admitted by its permit and the state of its batch, then applied once, in
 * one transaction, one after the other: leads that come in go first. A record is settled once that is committed; of a process that is killed
 * it comes again, and is found applied.
 */
export class ReplayedItems {
  private line: Promise<void> = Promise.resolve();

  constructor(private readonly tools: ReplayTools) {}

  /** Whether a record of the group is an approved item. */
  isOne({ topic }: ConsumedRecord): boolean {
    return topic === this.tools.topic;
  }

  /** Takes records on and returns at once. */
  take(received: readonly Pick<Received<unknown>, 'receipt'>[]): void {
    for (const { receipt } of received) void this.admit(receipt);
  }

  /** Resolves once what was admitted is applied. */
  idle(): Promise<void> {
    return this.line;
  }

  /** Never rejects. */
  private async admit(receipt: Receipt): Promise<void> {
    const verdict = (await this.tools.gate?.admit(receipt.record)) ?? { kind: 'refused', code: 'no_operator' };
    if (verdict.kind === 'item') {
      this.line = this.line.then(() => this.apply(receipt, verdict.permit));
      return;
    }
    if (verdict.kind === 'later') return receipt.redeliverIn(verdict.delayMs);
    const { topic, partition, offset } = receipt.record;
    this.tools.logger.warn({ topic, partition, offset, error_code: verdict.code }, 'An approved item is refused');
    receipt.settle();
  }

  /** Never rejects. */
  private async apply(receipt: Receipt, permit: Permit): Promise<void> {
    if (receipt.stale) return;
    const span = this.begin(receipt.record, permit);
    try {
      const decision = await this.decide(permit, span).catch(knownBefore);
      if (decision !== undefined) this.tools.relayWake();
      this.tell(permit, span, decision);
      receipt.settle();
    } catch (err) {
      await this.failed(receipt, permit, err);
    } finally {
      span.end();
    }
  }

  private decide(permit: Permit, { context }: Span): Promise<Decision | undefined> {
    const { db } = this.tools;
    const { itemId, eventId, destination, deadlineAt } = permit;
    const item = { itemId, eventId, destination, deadlineAt };
    if (destination === unrouted) return db.transaction((tx) => routeAgain(tx, this.tools, { item, trace: context }));
    if (destination === refusedRecord) return decideAgain(this.tools, item, context);
    return Promise.resolve(undefined);
  }

  /** A new trace, linked to that of the lead's record. */
  private begin({ topic, headers }: ConsumedRecord, { eventId, destination }: Permit): Span {
    const { traceparent, tracestate } = headers;
    const first = traceparent && parseTraceContext({ traceparent: traceparent.toString(), tracestate: tracestate?.toString() });
    return this.tools.telemetry.startSpan(`replay ${topic}`, {
      kind: 'consumer',
      ...(first && { links: [{ context: first }] }),
      attributes: { 'lead.event_id': eventId, 'lead.destination': destination },
    });
  }

  private tell({ batchId, eventId, destination }: Permit, span: Span, decision: Decision | undefined): void {
    span.set({ 'lead.decision': decision?.code ?? 'not_applied' });
    this.tools.logger.unit({
      unit: 'replay',
      batch_id: batchId,
      event_id: decision?.outcome === 'done' ? decision.ref : eventId,
      destination,
      decision: decision?.code ?? 'not_applied',
      outcome: decision?.outcome,
      trace_id: span.context.traceId,
    });
  }

  /** What waiting mends is tried again. Anything else would come back for ever: it is noted, so that its batch does not wait for it. */
  private async failed(receipt: Receipt, permit: Permit, err: unknown): Promise<void> {
    const { batchId, eventId, destination } = permit;
    const waits =
      err instanceof DatabaseUnavailable || err instanceof RegistryUnavailable || (err instanceof StatementFailed && err.isTransient);
    const fields = { err, batch_id: batchId, event_id: eventId, destination };
    if (waits) {
      this.tools.logger.warn({ ...fields, retry_in_ms: againMs }, 'An approved item waits');
      receipt.redeliverIn(againMs);
      return;
    }
    this.tools.logger.error(fields, 'An approved item could not be applied');
    await this.tools.db
      .transaction((tx) => noteItem(tx, permit, { outcome: 'failed', class: 'permanent', code: 'cannot_apply' }))
      .catch((error: unknown) => this.tools.logger.warn({ ...fields, err: error }, 'What became of an approved item could not be noted'));
    receipt.settle();
  }
}

function knownBefore(error: unknown): undefined {
  if (error instanceof ItemKnown) return undefined;
  throw error;
}
