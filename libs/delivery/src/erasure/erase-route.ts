import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { DestinationReference, OperationState, OwnerEraseAnswer } from '#contracts';
import type { OutboxRow } from '#messaging';
import type { Database, Logger, Tx } from '#runtime';
import { worstOf } from '../policy/worst-of.js';
import { settle } from '../sql/settle.js';
import { clock, type StoredRow, storedColumns, withOperations } from '../sql/stored.js';
import { afterChange, outboxOf, type StoredChange } from '../stored-change.js';
import type { StoredDelivery } from '../stored-delivery.js';
import type { SweptTarget } from '../swept-target.js';
import { countOwned, type ErasedLead, forgetPersons, referencesOf } from './erase-rows.js';

export const eraseRequest = z.object({
  items: z
    .array(
      z.object({
        event_id: z.uuid().transform((id) => id.toLowerCase()),
        /** Keyed hash of the person, or its first half, where intake still knew it. */
        person_key: z.string().min(1).max(128).optional(),
        /** No other lead of the person is kept: what is known of the person at destinations goes too. */
        whole_person: z.boolean().default(false),
      }),
    )
    .min(1)
    .max(1_000),
  /** Only counts. */
  dry_run: z.boolean().default(false),
});
export type EraseRequest = z.infer<typeof eraseRequest>;

export interface EraseRouteOptions {
  db: Database;
  target(destination: string): SweptTarget | undefined;
  /** A delivery was changed. Told once that is committed. */
  onChange?(after: StoredDelivery): void;
  relayWake: () => void;
  logger: Logger;
}

/**
 * Handler of POST /internal/v1/leads:erase. Whatever of these leads waits, is held or has failed ends `erased` without a call; what is in flight or
 * uncertain is left to finish first, so whoever wants the end of it asks again. Once nothing of a lead is unfinished, the keyed hash of its
 * person goes. To repeat it changes nothing. Says what is left, and every reference that destinations hold.
 */
export function eraseRoute(options: EraseRouteOptions): (body: EraseRequest) => Promise<OwnerEraseAnswer> {
  const { db, logger } = options;
  return async ({ items, dry_run }) => {
    const leads: ErasedLead[] = items.map((item) => ({
      eventId: item.event_id,
      personKey: item.person_key,
      wholePerson: item.whole_person,
    }));
    // Before anything is forgotten: the person's row names a record that no operation of these leads may name.
    const references = await referencesOf(db, leads);
    if (!dry_run) {
      const ended = await endAll(options, leads);
      const forgotten = await db.transaction((tx) => forgetPersons(tx, leads));
      logger.info({ count: ended, rows: forgotten, decision: 'erased' }, 'Deliveries of erased leads ended');
    }
    return { places: await countOwned(db, leads), references: merge(references, dry_run ? [] : await referencesOf(db, leads)) };
  };
}

async function endAll(options: EraseRouteOptions, leads: readonly ErasedLead[]): Promise<number> {
  let ended = 0;
  for (const { eventId } of leads) {
    const changes = await options.db.transaction((tx) => endLead(tx, options, eventId));
    if (changes.length === 0) continue;
    options.relayWake();
    for (const change of changes) options.onChange?.(afterChange(change));
    ended += changes.length;
  }
  return ended;
}

const lockSql = `${clock}
SELECT ${storedColumns} FROM delivery d, clock WHERE event_id = $1 ORDER BY destination FOR UPDATE OF d`;

async function endLead(tx: Tx, { target, logger }: EraseRouteOptions, eventId: string): Promise<StoredChange[]> {
  const rows = await tx.sql<StoredRow>('erase.lock', lockSql, [eventId]);
  const changes = (await withOperations(tx, rows)).flatMap((stored) => erasure(stored) ?? []);
  const outbox: OutboxRow[] = [];
  for (const change of changes) {
    const owner = target(change.stored.destination);
    // Nobody is configured for it any more, so nobody can say whom to tell.
    if (owner !== undefined) outbox.push(...(await outboxOf(change, owner, logger)));
  }
  await settle(tx, changes, outbox);
  return changes;
}

const unfinished: readonly OperationState[] = ['in_flight', 'uncertain'];
const open: readonly OperationState[] = ['pending', 'waiting', 'held', 'dead', 'expired'];

/** Undefined while something of the delivery is unfinished, and where nothing of it is open. */
function erasure(stored: StoredDelivery): StoredChange | undefined {
  const { operations, state } = stored;
  if (state === 'in_flight' || state === 'uncertain' || operations.some((one) => unfinished.includes(one.state))) return undefined;
  const left = operations.filter((one) => open.includes(one.state));
  // Its operations are gone, all or some: the row itself says that it is open.
  if (left.length === 0 && !open.some((one) => one === state)) return undefined;
  const changed = left.map((operation) => ({ operation, state: 'erased' as const, note: noteOf(operation.attempts) }));
  const states = operations.map((operation) => (left.includes(operation) ? 'erased' : operation.state));
  return { stored, state: worstOf(states, { incomplete: stored.incomplete ?? false, gone: 'erased' }), operations: changed };
}

const noteOf = (number: number) => ({ attemptId: randomUUID(), number, startedAgoMs: 0, outcome: 'erased' });

function merge(...lists: (readonly DestinationReference[])[]): DestinationReference[] {
  const byName = new Map(lists.flat().map((one) => [`${one.destination} ${one.kind} ${one.ref}`, one]));
  return [...byName.values()];
}
