import { randomUUID } from 'node:crypto';
import type { Coalescer, Database, Logger } from '#runtime';
import { DatabaseAway } from '../sql/database-away.js';
import { Stopped } from '../sql/errors.js';
import { sqlBatch } from '../sql/sql-batch.js';
import { busyWaitMs, mustWaitFor, type Owner } from './busy.js';
import { countWaiting, type HoldingWrite, lockOwners, type TakenRow, takeFree, takeOver } from './contact-rows.js';
import { newerFields, rankOf } from './rank.js';
import { type Settling, settleRows } from './settle-rows.js';

/** What is known of a person's record at a destination when an operation is about to write it. */
export interface KnownContact {
  /** The destination's id of the record: it is changed by it, never searched or made again. */
  ref?: string;
  /** Fields that a newer submission wrote: an older one leaves them out. */
  newer: readonly string[];
}

/** Which operation and person's row is meant. */
export interface SettledWrite {
  destination: string;
  operationKey: string;
  /** Keyed hash of the person: the key of the lead's record, and `person_key` of its payload. */
  personKey: string;
}

/** An operation that wants to write a person's record. */
export interface ContactWrite extends SettledWrite {
  eventId: string;
  submittedAt: Date;
  /** Names of the fields that the write carries, never their values. */
  fields: readonly string[];
}

/**
 * `ours`: held under `holdId`, which is new with each acquisition. `busy`: another operation of this person may be writing, or may have
 * written. Nothing was sent: wait without an attempt.
 */
export type ContactLock = ({ kind: 'ours'; holdId: string } & KnownContact) | { kind: 'busy'; waitMs: number };

export interface SettleOptions {
  /**
   * The hold under which no call was made, or an answer proves that nothing was executed: where it is still the last one, the row is freed
   * though the operation waits for another attempt.
   */
  notSentUnder?: string;
  /** The destination has no such record any more: what is known of it is forgotten. Goes with `notSentUnder`. */
  gone?: boolean;
}

/**
 * One writer per person and destination at a time. A row in `contact_state` belongs to an operation from its acquisition until that operation
 * has ended or is known not to have been sent. Who owns it is judged by the operation's own row: a crash, a lost answer or a dropped `settle`
 * frees nothing too early and holds nothing for ever, and a success that nobody settled still leaves its reference.
 */
export interface Contacts {
  /** After the claim, before the call. May be repeated by the same operation: the new hold takes the place of the old. Waits while the database is away. @throws Stopped */
  acquire(write: ContactWrite): Promise<ContactLock>;
  /**
   * After every record of the operation, whatever it came to; returns at once, and may take effect much later: when the database is back.
   * Frees the row where it may be freed and wakes the next.
   */
  settle(write: SettledWrite, options?: SettleOptions): void;
  /** Lets what waits for the database give up. */
  stop(): void;
}

export interface ContactsOptions {
  db: Database;
  logger: Logger;
  /** Topic that a delivery of this destination is woken on. */
  wakeTopic: (destination: string) => string;
  /** Tells the relay that outbox rows were written. */
  relayWake: () => void;
}

/** The contact locks of one service, coalesced over all its engines. */
export function createContacts({ db, logger, wakeTopic, relayWake }: ContactsOptions): Contacts {
  const nothing = (): void => undefined;
  const away = new DatabaseAway({ onAway: nothing, onBack: nothing, logger });
  const refused = () => new Error('the database refuses a value of this row');
  const acquire: Coalescer<HoldingWrite, ContactLock> = sqlBatch({ away, run: (writes) => acquireBatch(db, writes), refused });
  const settle: Coalescer<Settling, void> = sqlBatch({
    away,
    run: async (items) => {
      if ((await settleRows(db, items)) > 0) relayWake();
      return items.map(() => undefined);
    },
    refused,
  });
  return {
    acquire: (write) => acquire({ ...write, holdId: randomUUID() }),
    settle: (write, { notSentUnder, gone = false } = {}) => {
      settle({ write, notSentUnder, gone, wakeTopic: wakeTopic(write.destination) }).catch((error: unknown) => {
        if (error instanceof Stopped) return;
        logger.warn({ err: error, operation_key: write.operationKey }, 'contact not settled; its next writer looks for itself');
      });
    },
    stop: () => away.stop(),
  };
}

const personOf = ({ destination, personKey }: { destination: string; personKey: string }): string => `${destination} ${personKey}`;

async function acquireBatch(db: Database, writes: readonly HoldingWrite[]): Promise<ContactLock[]> {
  const sorted = [...writes].sort((a, b) => (personOf(a) < personOf(b) ? -1 : personOf(a) > personOf(b) ? 1 : 0));
  const locks = new Map<HoldingWrite, ContactLock>();
  const candidates = firstOfEach(sorted);
  const free = new Map((await takeFree(db, candidates)).map((row) => [`${row.destination} ${row.person_key}`, row]));
  for (const write of candidates) {
    const row = free.get(personOf(write));
    if (row !== undefined) locks.set(write, ours(write, row));
  }
  const rest = sorted.filter((write) => !locks.has(write));
  if (rest.length > 0) await db.transaction(async (tx) => acquireRest(tx, rest, locks));
  return writes.map((write) => locks.get(write) ?? { kind: 'busy', waitMs: 1_000 });
}

/** Rows that someone stands in, and twins of one batch: looked at one by one under their lock. `locks` gets the results. */
async function acquireRest(tx: Pick<Database, 'sql'>, rest: readonly HoldingWrite[], locks: Map<HoldingWrite, ContactLock>): Promise<void> {
  const persons = firstOfEach(rest);
  const owners = await lockOwners(tx, persons);
  const able = persons.flatMap((first, index) => mayTake(rest, first, owners[index]) ?? []);
  const taken = able.length === 0 ? [] : await takeOver(tx, able);
  const rows = new Map(taken.map((row) => [`${row.destination} ${row.person_key}`, row]));
  for (const write of able) {
    const row = rows.get(personOf(write));
    if (row !== undefined) locks.set(write, ours(write, row));
  }
  const busy = rest.filter((write) => !locks.has(write));
  if (busy.length === 0) return;
  const waiting = await countWaiting(tx, persons);
  const byPerson = new Map(persons.map((write, index) => [personOf(write), { owner: owners[index], waiting: waiting[index] ?? 0 }]));
  for (const write of busy) {
    const { owner, waiting: others = 0 } = byPerson.get(personOf(write)) ?? {};
    // Without an owner of its own it is behind a twin that has just taken the row.
    const ahead = owner ?? { operationKey: '', state: 'in_flight', deliveryState: 'in_flight' };
    locks.set(write, { kind: 'busy', waitMs: busyWaitMs(ahead, { waiting: others, random: Math.random() }) });
  }
}

/** Of the operations of one person the one whose row it is already, else the first; nothing while another's is open. */
function mayTake(rest: readonly HoldingWrite[], first: HoldingWrite, owner: Owner | undefined): HoldingWrite | undefined {
  const own = owner && rest.find((write) => write.operationKey === owner.operationKey && personOf(write) === personOf(first));
  return own ?? (mustWaitFor(owner, first.operationKey) ? undefined : first);
}

function firstOfEach(writes: readonly HoldingWrite[]): HoldingWrite[] {
  const first = new Map<string, HoldingWrite>();
  for (const write of writes) if (!first.has(personOf(write))) first.set(personOf(write), write);
  return [...first.values()];
}

function ours(write: HoldingWrite, row: TakenRow): ContactLock {
  const { holdId } = write;
  return { kind: 'ours', holdId, ref: row.contact_ref ?? undefined, newer: newerFields(write.fields, row.fields, rankOf(write)) };
}
