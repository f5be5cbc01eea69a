import { setTimeout as delay } from 'node:timers/promises';
import type { DiscrepancyClass, WindowItem } from '#delivery';
import { type DestinationConfig, InternalUnavailable, type Logger, metrics, type Tx } from '#runtime';
import { DestinationReader, DestinationUnreadable } from '../destinations/destination-reader.js';
import { knownLeads } from '../discrepancies/known-leads.js';
import { closeRecords, openElsewhere } from '../discrepancies/open-records.js';
import { closeGone, closeGoneWindow, storeFindings } from '../discrepancies/store-findings.js';
import { type Changes, compareChanges } from './compare-changes.js';
import { anyTime, comparePage, type PageResult } from './compare-page.js';
import { end, giveBack, type Holder, placeOf, renew, step } from './lease.js';
import { lookAgain } from './look-again.js';
import { isPassing, leavesNothing, Stuck, unlessStuck } from './passing.js';
import { saveLooks, saveSeen } from './remembered.js';
import type { RunCounts, RunCursor, RunRow } from './run-row.js';
import { bySchedule } from './start-run.js';
import type { RunTools } from './tools.js';
import { WaitingPeople } from './waiting-people.js';

/** Found by looking from our deliveries: what is not found again there has gone. */
const forwardClasses: readonly DiscrepancyClass[] = [
  'missing',
  'deleted',
  'duplicate',
  'content_conflict',
  'late',
  'told_nobody',
  'relationship',
];
/** Found by looking from the destination's changes. */
const reverseClasses: readonly DiscrepancyClass[] = ['orphan', 'possible_manual_twin'];

/** Between two tries while another service does not answer. */
const againMs = 1_000;
const busyMs = 1_000;

/** It was stopped, or another process has it: nothing of it may be written any more. */
class Lost extends Error {
  override readonly name = 'Lost';
}

export interface RunOptions {
  tools: RunTools;
  row: RunRow;
  /** Of this taking of the run. */
  owner: string;
  signal: AbortSignal;
}

/** Works at one run, a page at a time, from where it was left. Each page is committed whole, with the place after it. */
export class Run {
  private readonly holder: Holder;
  private readonly reader: DestinationReader;
  private readonly stopping = new AbortController();
  private readonly window: { from: Date; to: Date };
  private readonly callsBefore: number;
  private readonly logger: Logger;
  private counts: RunCounts;
  private waitsFor: string | undefined;

  constructor(
    private readonly options: RunOptions,
    private readonly config: DestinationConfig,
  ) {
    const { tools, row, owner, signal } = options;
    this.holder = { runId: row.run_id, owner, leaseMs: tools.leaseMs };
    this.logger = tools.logger.child({ run_id: row.run_id, destination: row.destination });
    this.counts = row.counts;
    this.callsBefore = row.calls;
    // What its search showed late of the window before belongs to this one.
    const overlapMs = config.reconcile?.overlapMs ?? 0;
    this.window = { from: new Date(row.from_at.getTime() - overlapMs), to: row.to_at };
    signal.addEventListener('abort', () => this.stopping.abort(), { once: true });
    const connector = tools.connectors.get(row.destination);
    if (connector === undefined) throw new DestinationUnreadable('no_connector');
    this.reader = new DestinationReader({ connector, config, signal: this.stopping.signal, whenFree: () => this.whenFree() });
  }

  /** Resolves when it is over, given back, or lost. Never rejects. */
  async run(): Promise<void> {
    const keeping = setInterval(() => void this.keep(), this.holder.leaseMs / 3);
    try {
      await this.work();
      await end(this.options.tools.db, this.holder, { state: 'finished', calls: this.calls });
      this.logger.info({ count: this.counts.compared ?? 0, calls: this.calls }, 'Compared');
    } catch (error) {
      await this.ended(error).catch((err: unknown) => this.logger.warn({ err }, 'How a comparison ended could not be written'));
    } finally {
      clearInterval(keeping);
    }
  }

  private get calls(): number {
    return this.callsBefore + this.reader.calls;
  }

  private async ended(error: unknown): Promise<void> {
    const { db } = this.options.tools;
    if (error instanceof Lost) return;
    if (this.options.signal.aborted) return giveBack(db, this.holder);
    if (this.stopping.signal.aborted) return;
    this.logger.warn({ err: error }, 'A comparison failed');
    const reason = error instanceof DestinationUnreadable || error instanceof Stuck ? error.message : 'an error here; the log says what';
    await end(db, this.holder, { state: 'failed', reason, calls: this.calls });
  }

  /** Shows that it is at work; stops where it is nobody's business any more. */
  private async keep(): Promise<void> {
    try {
      if (!(await renew(this.options.tools.db, this.holder, this.waitsFor))) this.stopping.abort();
    } catch (err) {
      this.logger.debug({ err }, 'The lease of a comparison could not be renewed');
    }
  }

  private async work(): Promise<void> {
    let cursor = this.options.row.cursor;
    while (cursor.phase !== 'reverse') {
      cursor = await this.patiently(cursor, () => this.fromOurs(cursor));
    }
    const waiting = new WaitingPeople({ tools: this.options.tools, destination: this.options.row.destination, ...this.window });
    while (cursor.kind !== undefined) cursor = await this.patiently(cursor, () => this.reverse(cursor, waiting));
  }

  private fromOurs(cursor: RunCursor): Promise<RunCursor> {
    if (cursor.phase === 'known') return this.known(cursor);
    return cursor.phase === 'records' ? this.records(cursor) : this.forward(cursor);
  }

  /**
   * While another service is away the page is done again; where it may have been committed all the same, only if it was not. Not for ever: it
   * may be this page alone for which a service has no answer.
   */
  private async patiently(from: RunCursor, page: () => Promise<RunCursor>): Promise<RunCursor> {
    const begunAtMs = performance.now();
    for (let isCertain = true; ; ) {
      try {
        const moved = isCertain ? undefined : await this.movedFrom(from);
        return moved ?? (await page());
      } catch (error) {
        if (!isPassing(error)) throw error;
        if (error instanceof InternalUnavailable) unlessStuck(begunAtMs, this.options.tools.onePageMs);
        isCertain &&= leavesNothing(error);
        this.waitsFor = error instanceof InternalUnavailable ? 'another service does not answer' : 'the database does not answer';
        await delay(againMs, undefined, { signal: this.stopping.signal });
        this.waitsFor = undefined;
      }
    }
  }

  /** Where the run stands, if that is not where this page began. */
  private async movedFrom(from: RunCursor): Promise<RunCursor | undefined> {
    const place = await placeOf(this.options.tools.db, this.holder);
    if (place === undefined) throw new Lost();
    const isSame = place.cursor.phase === from.phase && place.cursor.after === from.after && place.cursor.kind === from.kind;
    if (isSame) return undefined;
    this.counts = place.counts;
    return place.cursor;
  }

  private async forward(cursor: RunCursor): Promise<RunCursor> {
    const { tools, row } = this.options;
    const { destination, form, campaign, outcome } = row;
    const { items, next } = await tools.sources.deliveries({
      destination,
      from: this.window.from.toISOString(),
      to: this.window.to.toISOString(),
      ...(form !== null && { form }),
      ...(campaign !== null && { campaign }),
      ...(outcome !== null && { outcome }),
      after: cursor.after,
      limit: this.config.reconcile?.page,
    });
    const following: RunCursor = row.by_whom === bySchedule ? { phase: 'known' } : this.beginReverse();
    return this.compare(items, next === undefined ? following : { phase: 'forward', after: next });
  }

  /** A window moves on; what it has found, or missed once, does not go out of sight with it. */
  private async known({ after }: RunCursor): Promise<RunCursor> {
    const { tools, row } = this.options;
    const { destination, run_id: runId, from_at: repairedFrom } = row;
    const begunAt = row.started_at ?? row.created_at;
    const limit = this.config.reconcile?.page ?? 200;
    const eventIds = await knownLeads(tools.db, { destination, runId, classes: forwardClasses, repairedFrom, begunAt, after, limit });
    const asked = { ...anyTime, destination, event_ids: eventIds };
    const { items } = eventIds.length === 0 ? { items: [] } : await tools.sources.deliveries(asked);
    return this.compare(items, eventIds.length < limit ? { phase: 'records' } : { phase: 'known', after: eventIds.at(-1) });
  }

  /** What was found of records outside the window is looked at by their references: no change of them may come into sight any more. */
  private async records({ after }: RunCursor): Promise<RunCursor> {
    const { tools, row } = this.options;
    const { destination, run_id: runId } = row;
    const limit = this.config.reconcile?.page ?? 200;
    const rows = await openElsewhere(tools.db, { destination, classes: reverseClasses, runId, ...this.window, after, limit });
    const { findings, gone } = await lookAgain({ tools, reader: this.reader, destination }, rows);
    const place: RunCursor = rows.length < limit ? this.beginReverse() : { phase: 'records', after: rows.at(-1)?.identity };
    await this.commit(place, async (tx) => {
      await closeRecords(tx, gone);
      return this.store(tx, findings);
    });
    return place;
  }

  private beginReverse(): RunCursor {
    return { phase: 'reverse', kind: this.nextKind() };
  }

  /** Compares some deliveries and commits what that came to. @param place where the run goes on then */
  private async compare(items: readonly WindowItem[], place: RunCursor): Promise<RunCursor> {
    const { tools, row } = this.options;
    const { destination } = row;
    const result = await comparePage({ tools, reader: this.reader, destination }, items);
    await this.commit(place, (tx) => this.keepPage(tx, result, this.counts));
    return place;
  }

  private async keepPage(tx: Tx, result: PageResult, before: RunCounts): Promise<RunCounts> {
    const { destination, run_id: runId } = this.options.row;
    const counts = await this.store(tx, result.findings, before);
    await saveSeen(tx, destination, result.seen);
    await saveLooks(tx, destination, { ...result, known: result.knownLooks });
    await closeGone(tx, { destination, runId, judged: result.judged, classes: forwardClasses });
    return this.added(counts, result);
  }

  private added(counts: RunCounts, { compared, missed }: Pick<PageResult, 'compared' | 'missed'>): RunCounts {
    return { ...counts, compared: (counts.compared ?? 0) + compared, unconfirmed: (counts.unconfirmed ?? 0) + missed.length };
  }

  private nextKind(after?: string): string | undefined {
    const { row } = this.options;
    const isPart = row.form !== null || row.campaign !== null || row.outcome !== null;
    if (isPart || this.options.tools.connectors.get(row.destination)?.capabilities.changedSince !== true) return undefined;
    const kinds = this.config.operations;
    return kinds[after === undefined ? 0 : kinds.indexOf(after) + 1];
  }

  private async reverse({ kind = '', after }: RunCursor, waiting: WaitingPeople): Promise<RunCursor> {
    const { tools, row } = this.options;
    const { destination } = row;
    const { window, reader } = this;
    const limit = this.config.reconcile?.page ?? 200;
    const page = await reader.changes({ kind, ...window, cursor: after, limit });
    const options = { tools, reader, destination, kind, window, waiting, page: limit };
    const { findings, ours }: Changes = page === undefined ? { findings: [], ours: [] } : await compareChanges(options, page.records);
    const isLast = page?.next === undefined;
    const following = isLast ? this.nextKind(kind) : kind;
    const place: RunCursor = {
      phase: 'reverse',
      ...(following !== undefined && { kind: following }),
      ...(!isLast && { after: page.next }),
    };
    await this.commit(place, async (tx) => {
      let counts = await this.store(tx, findings);
      for (const result of ours) counts = await this.keepPage(tx, result, counts);
      const isRead = page !== undefined && isLast;
      if (isRead) await closeGoneWindow(tx, { destination, runId: row.run_id, kind, ...window, classes: reverseClasses });
      return counts;
    });
    return place;
  }

  /** @param before counts that those of the findings come to */
  private async store(tx: Tx, findings: PageResult['findings'], before: RunCounts = this.counts): Promise<RunCounts> {
    const { run_id: runId, destination, started_at: startedAt, created_at: createdAt } = this.options.row;
    const owner = this.config.reconcile?.owner;
    const fresh = await storeFindings(tx, findings, { destination, runId, owner, begunAt: startedAt ?? createdAt });
    const counts = { ...before };
    for (const [name, count] of Object.entries(fresh)) {
      counts[name as DiscrepancyClass] = (counts[name as DiscrepancyClass] ?? 0) + count;
      metrics.discrepanciesFound.inc({ destination, class: name }, count);
    }
    return counts;
  }

  private async commit(cursor: RunCursor, write: (tx: Tx) => Promise<RunCounts>): Promise<void> {
    this.counts = await this.options.tools.db.transaction(async (tx) => {
      const counts = await write(tx);
      if (!(await step(tx, this.holder, { cursor, counts, calls: this.calls }))) throw new Lost();
      return counts;
    });
  }

  /** Waits while the destination is needed for leads, is held, or fails. */
  private async whenFree(): Promise<void> {
    const { tools, row } = this.options;
    for (;;) {
      this.waitsFor = await tools.traffic.busy(row.destination).catch(() => 'its state cannot be read');
      if (this.waitsFor === undefined) return;
      await delay(busyMs, undefined, { signal: this.stopping.signal });
    }
  }
}
