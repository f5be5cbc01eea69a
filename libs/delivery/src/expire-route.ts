import { z } from 'zod';
import type { OutboxRow } from '#messaging';
import { insertOutbox } from '#messaging';
import type { Database, Logger } from '#runtime';
import { isDataError } from './sql/errors.js';
import { insertExpired, type Unclaimed } from './sql/expire.js';
import { outboxOf, type StoredChange } from './stored-change.js';
import type { StoredDelivery } from './stored-delivery.js';
import type { SweptTarget } from './swept-target.js';

const time = z.iso.datetime({ offset: true }).transform((text) => new Date(text));
const bytes = z.base64().transform((text) => Buffer.from(text, 'base64'));

export const expireRequest = z.object({
  items: z
    .array(
      z.object({
        event_id: z.uuid(),
        destination: z.string().min(1).max(512),
        lead_ref: z.string().min(1).max(64),
        submitted_at: time,
        deadline_at: time,
        test: z.boolean(),
        /** Key and value of the record that announced the lead. */
        record_key: bytes.nullable(),
        event: bytes,
        traceparent: z.string().max(64).optional(),
      }),
    )
    .min(1)
    .max(500),
});
export type ExpireRequest = z.infer<typeof expireRequest>;

export interface ExpireItem {
  event_id: string;
  destination: string;
  /**
   * `known`: claimed here already, ask for its state. `early`: not past its deadline by this service's clock. `unknown_destination`: nobody is
   * configured for it here. `refused`: the database does not take this one's values.
   */
  result: 'expired' | 'known' | 'early' | 'unknown_destination' | 'refused';
}

export interface ExpireAnswer {
  /** In the order of the request. */
  items: ExpireItem[];
}

export interface ExpireRouteOptions {
  db: Database;
  target(destination: string): SweptTarget | undefined;
  relayWake: () => void;
  logger: Logger;
}

/**
 * Handler of POST /internal/v1/deliveries:expire: intake hands over deliveries that nobody claimed before their deadline. Each ends here like
 * any other, with its operations, a dead letter and its result, in one transaction; its record may still come and meets a finished row. One
 * that cannot be taken holds up no other.
 */
export function expireRoute(options: ExpireRouteOptions): (body: ExpireRequest) => Promise<ExpireAnswer> {
  const { relayWake } = options;
  return async ({ items }) => {
    const unclaimed = new Map<string, Unclaimed>();
    for (const item of items) {
      const operations = options.target(item.destination)?.operations(item.event_id.toLowerCase());
      if (operations !== undefined) unclaimed.set(nameOf(item), toUnclaimed(item, operations));
    }
    const results = await expireAll(options, [...unclaimed]);
    if ([...results.values()].includes('expired')) relayWake();
    return {
      items: items.map(({ event_id, destination }) => {
        return { event_id, destination, result: results.get(nameOf({ event_id, destination })) ?? 'unknown_destination' };
      }),
    };
  };
}

const nameOf = (item: { event_id: string; destination: string }): string => `${item.event_id.toLowerCase()} ${item.destination}`;

type Results = Map<string, ExpireItem['result']>;

/** A row that the database refuses is halved out: it alone fails. */
async function expireAll(options: ExpireRouteOptions, unclaimed: readonly [name: string, Unclaimed][]): Promise<Results> {
  const [first] = unclaimed;
  if (first === undefined) return new Map();
  try {
    return await options.db.transaction((tx) => expire(tx, options, new Map(unclaimed)));
  } catch (error) {
    if (!isDataError(error)) throw error;
    if (unclaimed.length === 1) {
      const { eventId, destination } = first[1];
      options.logger.error({ err: error, event_id: eventId, destination }, 'unclaimed delivery not taken over');
      return new Map([[first[0], 'refused']]);
    }
  }
  const middle = Math.ceil(unclaimed.length / 2);
  const [one, other] = [await expireAll(options, unclaimed.slice(0, middle)), await expireAll(options, unclaimed.slice(middle))];
  return new Map([...one, ...other]);
}

async function expire(
  tx: Parameters<typeof insertExpired>[0],
  { target, logger }: ExpireRouteOptions,
  unclaimed: ReadonlyMap<string, Unclaimed>,
): Promise<Results> {
  const rows = await insertExpired(tx, [...unclaimed.values()]);
  const results: Results = new Map();
  const outbox: OutboxRow[] = [];
  for (const row of rows) {
    const one = unclaimed.get(nameOf(row));
    const owner = target(row.destination);
    if (one === undefined || owner === undefined) continue;
    results.set(nameOf(row), row.expired ? 'expired' : row.past ? 'known' : 'early');
    if (row.expired) outbox.push(...(await outboxOf(expiredChange(one, row.now), owner, logger)));
  }
  await insertOutbox(tx, outbox);
  return results;
}

function toUnclaimed(item: ExpireRequest['items'][number], operations: Unclaimed['operations']): Unclaimed {
  return {
    eventId: item.event_id.toLowerCase(),
    destination: item.destination,
    leadRef: item.lead_ref,
    submittedAt: item.submitted_at,
    deadlineAt: item.deadline_at,
    test: item.test,
    recordKey: item.record_key,
    event: item.event,
    traceparent: item.traceparent,
    operations,
  };
}

/** What was inserted, as a change: it makes the dead letter and the result. */
function expiredChange(unclaimed: Unclaimed, now: Date): StoredChange {
  const reason = { class: 'deadline_exceeded', code: 'deadline' } as const;
  const operations = unclaimed.operations.map((operation) => {
    return { ...operation, ...reason, state: 'expired' as const, attempts: 0, attemptsBefore: 0, absences: 0 };
  });
  const stored: StoredDelivery = {
    ...unclaimed,
    ...reason,
    state: 'expired',
    generation: 1,
    firstSeenAt: now,
    changedAt: now,
    resolvedAt: now,
    operations,
  };
  return { stored, state: 'expired', ...reason, operations: [], deadLetter: { ...reason, operationKey: operations[0]?.operationKey } };
}
