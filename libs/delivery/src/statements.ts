import { insertOutbox, type OutboxRow } from '#messaging';
import type { Coalescer, Database } from '#runtime';
import { type ClaimResult, claimBatch } from './sql/claim.js';
import type { DatabaseAway } from './sql/database-away.js';
import { type LateAnswer, settleLate } from './sql/late-answer.js';
import { type Mark, markSending, release } from './sql/leases.js';
import { type DeliveryRecord, recordBatch } from './sql/record.js';
import { type Replay, type ReplayResult, replayBatch } from './sql/replay-claim.js';
import { sqlBatch } from './sql/sql-batch.js';
import type { Work } from './work.js';

/** The coalesced statements of one engine. Each waits while the database is away; it rejects with Stopped when the engine stops. */
export interface Statements<E> {
  /** `refused`: the row can never be stored; it holds something that PostgreSQL does not take. */
  claim: Coalescer<Work<E>, ClaimResult | { kind: 'refused' }>;
  /** The claim of an approved item, in place of `claim`. */
  replay: Coalescer<Replay<E>, ReplayResult>;
  /** True: the claim still stood and all of it is written. */
  record: Coalescer<DeliveryRecord, boolean>;
  /** What becomes of a record that lost; each in a transaction of its own. */
  late: Coalescer<Late, LateAnswer>;
  /** True: given back; false: it was another's already. */
  release: Coalescer<Work<E>, boolean>;
  /** True: may be sent. */
  mark: Coalescer<Mark, boolean>;
  announce: Coalescer<OutboxRow, void>;
}

interface Late {
  record: DeliveryRecord;
  /** Topic on which what is left to do of the delivery is woken. */
  wakeTopic: string;
}

export interface StatementsOptions {
  db: Database;
  away: DatabaseAway;
  leaseMs: number;
  /** A record brought another reference than a late answer of the same operations had: the destination holds two records. */
  onSecondReference?(record: DeliveryRecord, operationKeys: readonly string[]): void;
}

/** Until a record is looked at again whose twin is in the same batch. */
const twinMs = 50;

export function createStatements<E>(options: StatementsOptions): Statements<E> {
  const { db, away, leaseMs } = options;
  const unstorable = () => new Error('the database refuses a value of this row');
  return {
    claim: sqlBatch<Work<E>, ClaimResult | { kind: 'refused' }>({
      away,
      run: (works) => claimWithoutTwins(works, { claim: (unique) => claimBatch(db, unique, leaseMs), twin: comesAgain }),
      refused: () => ({ kind: 'refused' }),
    }),
    replay: sqlBatch<Replay<E>, ReplayResult>({
      away,
      run: (replays) => {
        const permits = new Map(replays.map((replay) => [replay.work, replay]));
        return claimWithoutTwins([...permits.keys()], {
          claim: (unique) =>
            replayBatch(
              db,
              unique.flatMap((work) => permits.get(work) ?? []),
              leaseMs,
            ),
          twin: { kind: 'refused' },
        });
      },
      refused: () => ({ kind: 'refused' }),
    }),
    record: sqlBatch<DeliveryRecord, boolean>({ away, run: (records) => recordAll(options, records), refused: unstorable }),
    late: sqlBatch<Late, LateAnswer>({
      away,
      maxBatch: 1,
      run: (lates) => Promise.all(lates.map(({ record, wakeTopic }) => settleLate(db, record, wakeTopic))),
      refused: unstorable,
    }),
    release: sqlBatch<Work<E>, boolean>({
      away,
      run: async (works) => {
        const released = await release(db, works, leaseMs);
        return works.map((work) => released.has(work.attemptId));
      },
      refused: unstorable,
    }),
    mark: sqlBatch<Mark, boolean>({
      away,
      run: async (marks) => {
        const marked = await markSending(db, marks);
        return marks.map(({ operationKey }) => marked.has(operationKey));
      },
      refused: unstorable,
    }),
    announce: sqlBatch<OutboxRow, void>({
      away,
      run: async (rows) => {
        await insertOutbox(db, rows);
        return rows.map(() => undefined);
      },
      refused: unstorable,
    }),
  };
}

async function recordAll({ db, onSecondReference }: StatementsOptions, records: readonly DeliveryRecord[]): Promise<boolean[]> {
  const recorded = await recordBatch(db, records);
  for (const [index, record] of records.entries()) {
    const second = recorded[index]?.secondReference ?? [];
    if (second.length > 0) onSecondReference?.(record, second);
  }
  return recorded.map(({ won }) => won);
}

const comesAgain: ClaimResult = { kind: 'not_due', state: 'pending', waitMs: twinMs };

/** One statement cannot touch a row twice: of two records of one delivery the first is claimed, the other gets `twin`. */
async function claimWithoutTwins<E, R>(
  works: Work<E>[],
  { claim, twin }: { claim: (unique: Work<E>[]) => Promise<R[]>; twin: R },
): Promise<R[]> {
  const first = new Map<string, Work<E>>();
  for (const work of works) {
    const row = `${work.plan.eventId} ${work.plan.destination}`;
    if (!first.has(row)) first.set(row, work);
  }
  const unique = [...first.values()];
  const results = await claim(unique);
  if (unique.length === works.length) return results;
  const byWork = new Map(unique.map((work, index) => [work, results[index]]));
  return works.map((work) => byWork.get(work) ?? twin);
}
