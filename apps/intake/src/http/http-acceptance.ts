import { type Coalescer, coalesce, DatabaseUnavailable } from '#runtime';
import { type Acceptance, type AcceptTools, type Arrival, acceptLeads } from '../accept-leads.js';
import type { Submission } from '../submission/normalise.js';
import type { Caller } from './caller.js';
import { answerWithinMs } from './door.js';

interface Waiting extends Arrival {
  /** Monotonic time after which the client has its answer already, and saving the lead would be a surprise. */
  giveUpAtMs: number;
}

/** Rows per statement and statements at once: where PostgreSQL's group commit stopped gaining in our measurements. */
const coalescing = { maxBatch: 256, maxInFlight: 3 };
/** Requests waiting for a statement; beyond it they would only wait for their deadline. */
const maxQueued = 5_000;

/** Single requests in, multi-row statements out. */
export class HttpAcceptance {
  private readonly coalesced: Coalescer<Waiting, Acceptance>;

  constructor(tools: AcceptTools, limits: { maxBatch: number; maxInFlight: number } = coalescing) {
    this.coalesced = coalesce({ ...limits, maxWaitMs: 0, maxQueued, run: (batch) => acceptInTime(tools, batch) });
  }

  /** Throws DatabaseUnavailable or CoalescerFull: nothing was saved, or all of it was and the same request will say so. */
  accept(submission: Submission, caller: Caller): Promise<Acceptance> {
    return this.coalesced({ submission, trace: caller.span.context, giveUpAtMs: caller.startedMs + answerWithinMs });
  }

  /** Resolves once no request waits for a statement. */
  idle(): Promise<void> {
    return this.coalesced.idle();
  }
}

/** Requests that were answered while they waited are left out. */
async function acceptInTime(tools: AcceptTools, batch: Waiting[]): Promise<(Acceptance | Error)[]> {
  const nowMs = performance.now();
  const inTime = batch.filter(({ giveUpAtMs }) => giveUpAtMs > nowMs);
  const answers = await acceptLeads(tools, inTime);
  if (inTime.length === batch.length) return answers;
  const byArrival = new Map(inTime.map((arrival, index) => [arrival, answers[index]]));
  return batch.map((arrival) => byArrival.get(arrival) ?? new DatabaseUnavailable('answered_late'));
}
