import { setTimeout as delay } from 'node:timers/promises';
import type { DestinationsAnswer } from '#delivery';
import { audit } from '../../audit/audit.js';
import { type BatchRow, type Change, leaveItems, organizationOf } from '../batch-row.js';
import { hasExpired } from '../command-batch.js';
import { destinationsOf, isHeld } from '../held-destinations.js';
import { hasEnded } from '../machine/batch-state.js';
import type { SendSchedule } from '../machine/send-schedule.js';
import { covers, judgeCanary, type StopReason, stopReason } from '../machine/stop-rules.js';
import { Unanswered } from '../machine/unanswered.js';
import type { BatchTools } from '../tools.js';
import { followItems, type Round } from './follow-items.js';
import { giveBack, renewLease, step } from './lease.js';
import { holdPace, takeUpPace } from './pace.js';
import { sendItems } from './send-items.js';
import { stopFacts } from './stop-facts.js';
import { canaryItems, lookUpItems, sampleItems, toEnded } from './verify-canary.js';

export interface BatchRunOptions {
  tools: BatchTools;
  batchId: string;
  /** Who has the lease. */
  runner: string;
  signal: AbortSignal;
}

/** Between two looks at what is due to be sent. */
const tickMs = 25;
/** Between two looks at what became of the items under way, and at the batch and its destinations. */
const followMs = 200;
/** Before another try while a part does not answer. The lease outlives it. */
const awayMs = 1_000;
/** Well within a lease. */
const renewMs = 1_000;
/** Between two looks at a canary that was not found. */
const lookAgainMs = 1_000;
/** For a search that lags behind: at least so long is a canary looked for. */
const leastSearchMs = 10_000;
/** One in so many succeeded items is looked up as well while the batch runs. */
const sampleEvery = 100;
/** Between two looks at the rules that stop a batch, while nothing ends. */
const judgeMs = 1_000;

type Next = 'go_on' | 'done';

/**
 * Takes one batch through canary and run to its end, as long as this runner has its lease. Everything it knows it reads from the rows, so that
 * another can go on where it was killed: what is sent stands in the same transaction as the record of it.
 */
export class BatchRun {
  private batch: BatchRow | undefined;
  private lookedRoundAt = Number.NEGATIVE_INFINITY;
  private schedule: SendSchedule | undefined;
  /** Its row says that nothing falls due. */
  private held = false;
  private destinations: string[] | undefined;
  private lookedAt = 0;
  private firstLookAt: number | undefined;
  private unanswered = new Unanswered();
  private unsampled = 0;
  private judgedAt = Number.NEGATIVE_INFINITY;
  /** As last looked at, and what was sent since. */
  private left: Left = nothingLeft;
  private blocked = true;

  constructor(private readonly options: BatchRunOptions) {}

  /** Until the batch has ended with all its items, or is another runner's. Never rejects. */
  async run(): Promise<void> {
    const { tools, batchId, runner, signal } = this.options;
    // A look at slow destinations may take longer than a lease.
    const alive = setInterval(() => void renewLease(tools.db, batchId, runner).catch(() => undefined), renewMs);
    for (let next: Next = 'go_on'; next === 'go_on' && !signal.aborted; await pause(tickMs, signal)) {
      next = await this.turn().catch(async (err: unknown): Promise<Next> => {
        tools.logger.warn({ err, batch_id: batchId }, 'A replay batch waits: a part that it needs does not answer');
        await pause(awayMs, signal);
        return 'go_on';
      });
    }
    clearInterval(alive);
    await giveBack(tools.db, batchId, runner).catch(() => undefined);
  }

  private async turn(): Promise<Next> {
    const { tools, batchId, runner } = this.options;
    if (performance.now() - this.lookedRoundAt < followMs) {
      if (this.batch !== undefined) await this.send(this.batch);
      return 'go_on';
    }
    this.batch = await renewLease(tools.db, batchId, runner);
    if (this.batch === undefined) return 'done';
    const next = await this.look(this.batch);
    // From its end: what is due goes out between two looks, however long they take.
    this.lookedRoundAt = performance.now();
    return next;
  }

  /** One look at everything but what is due by the clock. */
  private async look(batch: BatchRow): Promise<Next> {
    const { tools } = this.options;
    const more = await leaveItems(tools.db, batch.batch_id, { state: batch.state, why: batch.why ?? undefined });
    const round = await followItems(tools, batch);
    if (hasEnded(batch.state) || batch.state === 'paused') {
      this.schedule = undefined;
      return round.outstanding === round.ended && !more ? 'done' : 'go_on';
    }
    if (hasExpired(batch)) {
      const late = {
        event: batch.began_at === null ? 'expire' : 'stop',
        why: batch.began_at === null ? 'approval_expired' : 'deadline_passed',
      } as const;
      return this.change(batch, late);
    }
    const states = await destinationsOf(tools.owners);
    const names = await this.namesOf(batch);
    // While a destination fails or throttles, what is sent would only wait there.
    this.blocked = states.some(({ destination, mode }) => names.includes(destination) && mode !== 'flowing');
    this.left = await this.countLeft(batch);
    const held = states.find((one) => names.includes(one.destination) && isHeld(one));
    if (held !== undefined) {
      return this.change(batch, { event: 'pause', why: 'destination_held', detail: `${held.destination}: ${held.reason ?? ''}` });
    }
    if (batch.state === 'approved') return this.change(batch, { event: 'begin' });
    return this.goOn(batch, round, states);
  }

  private async goOn(batch: BatchRow, round: Round, states: DestinationsAnswer['items']): Promise<Next> {
    const { left } = this;
    const reason = await this.stopReason(batch, round, states);
    // Nothing is left that could do harm: what there is to say stands at its items.
    if (reason !== undefined && (left.unsent > 0 || reason.code === 'duplicate')) {
      return this.change(batch, { event: 'stop', why: reason.code, detail: reason.detail });
    }
    const tooLong = batch.began_at !== null && batch.now.getTime() - batch.began_at.getTime() > Number(batch.max_duration_ms);
    if (tooLong && left.unsent > 0) return this.change(batch, { event: 'stop', why: 'max_duration' });
    if (batch.state === 'canary') return left.canary === 0 ? this.verify(batch, left.unsent) : 'go_on';
    await this.sample(batch, round);
    return left.unsent + left.outstanding === 0 ? this.change(batch, { event: 'finish' }) : 'go_on';
  }

  private async stopReason(batch: BatchRow, { ended }: Round, states: DestinationsAnswer['items']): Promise<StopReason | undefined> {
    if (ended === 0 && performance.now() - this.judgedAt < judgeMs) return undefined;
    this.judgedAt = performance.now();
    return stopReason(await stopFacts(this.options.tools, batch, { destinations: await this.namesOf(batch), states }));
  }

  /** Sends what is due by rate and room. */
  private async send(batch: BatchRow): Promise<void> {
    if (batch.state !== 'canary' && batch.state !== 'running') return;
    const { tools, runner } = this.options;
    this.schedule ??= await takeUpPace(tools.db, batch);
    const now = performance.now();
    if (this.blocked || !this.unanswered.mayAsk(now)) return this.hold(this.schedule, now);
    const { outstanding, unsent, canary_unsent } = this.left;
    const left = batch.state === 'canary' ? canary_unsent : unsent;
    const most = Math.min(this.schedule.due(now), batch.concurrency - outstanding, left);
    if (most <= 0) return;
    this.held = false;
    const owedMs = this.schedule.owedMs(now);
    const round = (await sendItems({ ...tools, runner }, batch, { most, owedMs })) ?? { sent: 0, waiting: 0 };
    const { sent } = round;
    this.schedule.sent(sent, performance.now());
    this.left = { ...this.left, unsent: unsent - sent, canary_unsent: canary_unsent - sent, outstanding: outstanding + sent };
    if (!this.unanswered.note(round, performance.now())) return;
    await this.change(batch, {
      event: 'pause',
      why: 'not_read',
      detail: 'The destination cannot say what it holds; look there, then resume',
    });
  }

  /** A destination that takes nothing now is not given it all at once afterwards. */
  private async hold(schedule: SendSchedule, nowMs: number): Promise<void> {
    schedule.hold(nowMs);
    if (this.held) return;
    await holdPace(this.options.tools.db, this.options.batchId, this.options.runner);
    this.held = true;
  }

  /** The canary has ended: looks each succeeded item of it up at its destination. */
  private async verify(batch: BatchRow, rest: number): Promise<Next> {
    const now = performance.now();
    if (now - this.lookedAt < lookAgainMs) return 'go_on';
    this.firstLookAt ??= now;
    const { tools } = this.options;
    const items = await canaryItems(tools, batch.batch_id);
    const succeeded = items.filter(({ state }) => state === 'succeeded');
    const open = succeeded.filter(({ found }) => found !== 'one');
    const looked = open.length === 0 ? [] : await lookUpItems(tools, batch.batch_id, open);
    this.lookedAt = performance.now();
    const ones = succeeded.length - open.length;
    const verdict = judgeCanary({
      ended: items.map(toEnded),
      verified: [...looked, ...Array.from({ length: ones }, () => ({ found: 'one' as const }))],
      rest,
      mayLookAgain: this.lookedAt - this.firstLookAt < this.searchMs(items),
    });
    switch (verdict.kind) {
      case 'again':
        return 'go_on';
      case 'stop':
        return this.change(batch, { event: 'stop', why: verdict.code, detail: verdict.detail });
      case 'pause':
        if (covers(batch.canary_vouched_counts, verdict.counts)) return this.change(batch, { event: 'canary_passed' });
        return this.change(batch, { event: 'pause', why: verdict.code, detail: verdict.detail, counts: verdict.counts });
      case 'passed':
        return this.change(batch, { event: 'canary_passed' });
    }
  }

  private searchMs(items: readonly { destination: string }[]): number {
    const { destinations } = this.options.tools.site;
    const lags = items.map(({ destination }) => {
      const config = destinations[destination];
      return config === undefined ? 0 : 3 * config.searchLagMs + config.lookupTimeoutMs;
    });
    return Math.max(leastSearchMs, ...lags);
  }

  /** A duplicate that only shows later must not wait for the end of ten thousand. */
  private async sample(batch: BatchRow, { ended }: Round): Promise<void> {
    this.unsampled += ended;
    if (this.unsampled < sampleEvery) return;
    const { tools } = this.options;
    const items = await sampleItems(tools, batch.batch_id, Math.floor(this.unsampled / sampleEvery));
    this.unsampled %= sampleEvery;
    const found = items.length === 0 ? [] : await lookUpItems(tools, batch.batch_id, items);
    if (!found.some((one) => one.found === 'several')) return;
    await this.change(batch, { event: 'stop', why: 'duplicate', detail: 'A succeeded item was found more than once at its destination' });
  }

  private async change(batch: BatchRow, change: Change): Promise<Next> {
    const { tools, runner, batchId } = this.options;
    const state = await tools.db.transaction(async (tx) => {
      const after = await step(tx, { batchId, runner, from: batch.state }, { by: 'runner', ...change });
      const { event, why, detail } = change;
      const subject = { batch_id: batchId, why, detail };
      const entry = { caller: 'runner', person: 'runner', action: `batch.${event}`, organization: organizationOf(batch), subject };
      if (after !== undefined) await audit(tx, entry);
      return after;
    });
    if (state === undefined) return 'go_on';
    this.schedule = undefined;
    this.unanswered = new Unanswered();
    this.firstLookAt = undefined;
    const level = change.event === 'stop' || change.event === 'pause' ? 'warn' : 'info';
    tools.logger[level]({ batch_id: batchId, state, reason: change.why, detail: change.detail }, 'Replay batch');
    return 'go_on';
  }

  private async namesOf({ batch_id }: BatchRow): Promise<string[]> {
    this.destinations ??= (
      await this.options.tools.db.sql<{ destination: string }>('operator.batch_destinations', destinationsSql, [batch_id])
    ).map(({ destination }) => destination);
    return this.destinations;
  }

  private async countLeft({ batch_id }: BatchRow): Promise<Left> {
    return (await this.options.tools.db.sql<Left>('operator.batch_left', leftSql, [batch_id]))[0] ?? nothingLeft;
  }
}

interface Left {
  /** No more than {@link mostCounted}. */
  unsent: number;
  outstanding: number;
  /** Of the canary, sent or not. */
  canary: number;
  canary_unsent: number;
}

const nothingLeft: Left = { unsent: 0, outstanding: 0, canary: 0, canary_unsent: 0 };

const destinationsSql = `SELECT DISTINCT destination FROM replay_item WHERE batch_id = $1 AND verdict = 'eligible'`;
/** More are not sent between two looks. */
const mostCounted = 5_000;
/** Each part by an index of what is open alone, whatever the batch has: it is asked five times a second. */
const leftSql = `
SELECT (SELECT count(*)::int FROM (
    SELECT FROM replay_item WHERE batch_id = $1 AND state = 'open' AND sent_at IS NULL LIMIT ${mostCounted}) counted) AS unsent,
  (SELECT count(*)::int FROM replay_item WHERE batch_id = $1 AND state = 'open' AND sent_at IS NOT NULL) AS outstanding,
  canary, canary_unsent
FROM (SELECT count(*)::int AS canary, count(*) FILTER (WHERE sent_at IS NULL)::int AS canary_unsent
  FROM replay_item WHERE batch_id = $1 AND canary AND state = 'open') canaries`;

const pause = (ms: number, signal: AbortSignal): Promise<void> => delay(ms, undefined, { signal }).catch(() => undefined);
