import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type Logger, metrics, type Sql, type Telemetry } from '#runtime';
import type { LookupResult } from '../outcome.js';
import { cleanText } from '../sql/clean-text.js';
import { appendNotes, type NotedAttempt } from '../sql/settle.js';
import { clock, type StoredRow, storedColumns, withOperations } from '../sql/stored.js';
import type { StoredDelivery, StoredOperation } from '../stored-delivery.js';
import type { VerifiedTarget } from '../swept-target.js';

/** Each item is looked up at once: a request takes as long as its slowest lookup. */
const mostItems = 16;

export const lookupRequest = z.object({
  items: z
    .array(z.object({ event_id: z.uuid(), destination: z.string().min(1).max(512), operation_key: z.string().min(1).max(640).optional() }))
    .min(1)
    .max(mostItems),
  /** The longest one lookup may take, in milliseconds; the destination's own limit holds beside it. */
  within_ms: z.number().int().min(100).max(30_000).default(4_000),
});
export type LookupRequest = z.infer<typeof lookupRequest>;

export interface LookedUpOperation {
  operation_key: string;
  kind: string;
  /** `several`: more than one record. `unknown`: it could not be found out, `code` says why. */
  result: LookupResult['kind'];
  /** Of the record that was found. */
  ref?: string;
  /** Of all records, where there are several. */
  refs?: string[];
  code?: string;
}

export interface LookedUp {
  event_id: string;
  destination: string;
  /** Empty for a delivery that is not known here. */
  operations: LookedUpOperation[];
}

export interface LookupAnswer {
  /** In the order of the request. */
  items: LookedUp[];
}

export interface LookupRouteOptions {
  db: Sql;
  /** By `delivery.destination`; undefined: this process cannot ask there. */
  verified(destination: string): VerifiedTarget | undefined;
  telemetry: Telemetry;
  logger: Logger;
}

const sql = `${clock}
SELECT ${storedColumns} FROM unnest($1::uuid[], $2::text[]) AS i(event_id, destination)
  JOIN delivery d ON d.event_id = i.event_id AND d.destination = i.destination, clock`;

/**
 * Handler of POST /internal/v1/deliveries:lookup: asks the destination now, through its connector, what it holds of each operation. Every
 * answer is noted in the log of attempts; the state of nothing is changed by it.
 */
export function lookupRoute(options: LookupRouteOptions): (body: LookupRequest) => Promise<LookupAnswer> {
  return async ({ items, within_ms }) => {
    const values = [items.map(({ event_id }) => event_id), items.map(({ destination }) => destination)];
    const known = await withOperations(options.db, await options.db.sql<StoredRow>('delivery.lookup_rows', sql, values));
    const notes: NotedAttempt[] = [];
    const answers = await Promise.all(
      items.map(async ({ event_id, destination, operation_key }): Promise<LookedUp> => {
        const stored = known.find((one) => one.eventId === event_id.toLowerCase() && one.destination === destination);
        const asked = stored?.operations.filter(({ operationKey }) => operation_key === undefined || operationKey === operation_key) ?? [];
        const operations = await Promise.all(
          asked.map((operation) => lookUp({ ...options, stored: stored as StoredDelivery, operation, withinMs: within_ms, notes })),
        );
        return { event_id, destination, operations };
      }),
    );
    await appendNotes(options.db, notes);
    return { items: answers };
  };
}

interface Question extends LookupRouteOptions {
  stored: StoredDelivery;
  operation: StoredOperation;
  withinMs: number;
  notes: NotedAttempt[];
}

/** Never rejects. A kind that cannot be looked up costs no call and leaves no note. */
async function lookUp({ verified, telemetry, logger, stored, operation, withinMs, notes }: Question): Promise<LookedUpOperation> {
  const { kind, operationKey } = operation;
  const target = verified(stored.destination);
  const named = { operation_key: operationKey, kind };
  if (target?.lookup === undefined || !target.canLookUp(kind)) return { ...named, result: 'unknown', code: 'no_lookup' };
  const span = telemetry.startSpan(`look up ${kind} ${target.name}`, {
    kind: 'client',
    attributes: { 'lead.event_id': stored.eventId, 'lead.destination': stored.destination, 'lead.operation_key': operationKey },
  });
  const startedAt = performance.now();
  const context = {
    eventId: stored.eventId,
    personKey: stored.recordKey?.toString(),
    trace: span.context,
    timeoutMs: Math.min(target.lookupTimeoutMs ?? target.timeoutMs, withinMs),
  };
  const result = await target.lookup({ kind, operationKey }, context).catch((error: unknown): LookupResult => {
    logger.error({ err: error, event_id: stored.eventId, destination: stored.destination }, 'connector threw');
    return { kind: 'unknown', code: 'connector_threw' };
  });
  const durationMs = performance.now() - startedAt;
  span.end(result.kind === 'unknown' ? { error: result.code } : undefined);
  metrics.lookups.inc({ destination: target.name, outcome: result.kind });
  notes.push({
    operationKey,
    attemptId: randomUUID(),
    number: operation.attempts,
    startedAgoMs: durationMs,
    durationMs,
    outcome: `lookup_${result.kind}`,
    code: result.kind === 'unknown' ? cleanText(result.code) : undefined,
    ref: result.kind === 'found' ? cleanText(result.ref) : undefined,
    traceId: span.context.traceId,
    spanId: span.context.spanId,
  });
  return { ...named, ...answerOf(result) };
}

function answerOf(result: LookupResult): Omit<LookedUpOperation, 'operation_key' | 'kind'> {
  switch (result.kind) {
    case 'found':
      return { result: 'found', ref: cleanText(result.ref) };
    case 'several':
      return { result: 'several', refs: result.refs.map(cleanText) };
    case 'unknown':
      return { result: 'unknown', code: cleanText(result.code) };
    case 'absent':
      return { result: 'absent' };
  }
}
