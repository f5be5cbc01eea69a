import { type LeadSubmitted, topics } from '#contracts';
import type { Received } from '#messaging';
import { type Coalescer, coalesce, type Logger, metrics, type Span } from '#runtime';
import { type Acceptance, type AcceptTools, acceptLeads } from '../accept-leads.js';
import { insertRejections } from '../store/insert-rejections.js';
import { type DatabasePatience, Stopping } from './database-patience.js';
import { type ReadableRecord, type ReadRecord, readRecord } from './read-record.js';
import { personOf, refusalOf } from './refusal-of.js';
import { toRejection } from './to-rejection.js';

type Submitted = Received<LeadSubmitted>;

interface Tools extends AcceptTools {
  logger: Logger;
  patience: DatabasePatience;
}

interface Work {
  received: Submitted;
  read: ReadRecord;
  span: Span;
  startedMs: number;
}

const maxBatch = 256;

/**
 * The Kafka door. Records are taken in the order they came, one batch at a time, so that of two submissions with one id the first counts. A
 * record is settled once it is saved or its refusal is; a bad one never keeps its neighbours.
 */
export class SubmittedLeads {
  private readonly take: Coalescer<Submitted, void>;

  constructor(private readonly tools: Tools) {
    this.take = coalesce({ maxBatch, maxWaitMs: 0, maxInFlight: 1, run: (batch) => this.untilSettled(batch) });
  }

  /** Resolves once all are settled. Throws where the fault is ours; nothing is settled then. */
  async handle(received: readonly Submitted[]): Promise<void> {
    await Promise.all(received.map((one) => this.take(one)));
  }

  private async untilSettled(batch: Submitted[]): Promise<undefined[]> {
    try {
      await this.tools.patience.untilDone(() => this.settle(batch));
    } catch (error) {
      if (!(error instanceof Stopping)) throw error;
    }
    return batch.map(() => undefined);
  }

  private async settle(batch: Submitted[]): Promise<void> {
    const works = batch.filter(({ receipt }) => !receipt.stale).map((received) => this.begin(received));
    const readable = works.filter((work): work is Work & { read: ReadableRecord } => 'submission' in work.read);
    const accepted = await acceptLeads(
      this.tools,
      readable.map(({ read, span }) => ({ submission: read.submission, trace: span.context, repeatWithdraws: true })),
    );
    const answers = new Map<Work, Acceptance>(readable.map((work, index) => [work, accepted[index] as Acceptance]));
    await this.reject(works, answers);
    for (const work of works) this.end(work, answers.get(work));
  }

  private begin(received: Submitted): Work {
    const read = readRecord(this.tools, received.result);
    const { record } = received.receipt;
    const { trace } = received;
    const span = this.tools.telemetry.startSpan(`process ${topics.leads}`, {
      kind: 'consumer',
      ...(trace && (read.source?.trustedTrace ? { parent: trace } : { links: [{ context: trace }] })),
      attributes: {
        'messaging.system': 'kafka',
        'messaging.operation.name': 'process',
        'messaging.operation.type': 'process',
        'messaging.destination.name': record.topic,
        'messaging.destination.partition.id': String(record.partition),
        'messaging.kafka.offset': Number(record.offset),
        'lead.source': read.source?.id,
      },
    });
    return { received, read, span, startedMs: performance.now() };
  }

  private async reject(works: Work[], answers: Map<Work, Acceptance>): Promise<void> {
    const refused = works.flatMap((work) => {
      const why = refusalOf(work.read, answers.get(work));
      return why ? [{ work, why: { ...why, keys: why.keys ?? personOf(this.tools.hmacs, work.read) } }] : [];
    });
    if (refused.length === 0) return;
    const now = await this.tools.clock.now();
    const rejections = refused.map(({ work, why }) =>
      toRejection(this.tools.ring, work.received.receipt.record, { refused: why, now, trace: work.span.context }),
    );
    await insertRejections(this.tools.db, rejections);
    this.tools.relayWake();
  }

  private end(work: Work, answer: Acceptance | undefined): void {
    const { received, read, span } = work;
    const { record } = received.receipt;
    received.receipt.settle();
    const why = refusalOf(read, answer);
    const eventId = answer && 'eventId' in answer ? answer.eventId : undefined;
    const decision = why?.class ?? answer?.kind;
    span.set({ 'lead.event_id': eventId, 'lead.decision': decision });
    span.end();
    const durationMs = performance.now() - work.startedMs;
    const test = 'submission' in read ? read.submission.test : read.test === true;
    if (!test) {
      if (why) metrics.intakeRejected.inc({ reason: why.class });
      metrics.intakeRequests.inc({ source: read.source?.id ?? 'unknown', outcome: decision });
      metrics.intakeDuration.observe({ door: 'kafka' }, durationMs / 1_000);
    }
    this.tools.logger.unit({
      unit: 'record',
      topic: record.topic,
      partition: record.partition,
      offset: record.offset,
      source: read.source?.id,
      organization: read.source?.organization,
      event_id: eventId,
      test,
      decision,
      error_code: why?.code,
      duration_ms: Math.round(durationMs * 10) / 10,
      trace_id: span.context.traceId,
    });
  }
}
