import { v7 } from 'uuid';
import { type FailurePolicy, failurePolicies } from '#contracts';
import { type Column, columnValues, type Sql, unnestColumns } from '#runtime';
import type { Letter } from './letter.js';

/** A class that an older release does not know is treated like a refusal: somebody has to find out. */
const policyOf = (failure: string): FailurePolicy =>
  (failurePolicies as Readonly<Record<string, FailurePolicy>>)[failure] ?? failurePolicies.permanent;

const after = (time: Date, ms: number): Date => new Date(time.getTime() + ms);

const columns: readonly Column<Letter>[] = [
  ['dead_letter_id', 'uuid', () => v7()],
  ['identity', 'text', (row) => row.identity],
  ['service', 'text', (row) => row.service],
  ['event_id', 'uuid', (row) => row.eventId],
  ['destination', 'text', (row) => row.destination],
  ['lead_ref', 'text', (row) => row.leadRef],
  ['organization', 'text', (row) => row.organization],
  ['source', 'text', (row) => row.source],
  ['form', 'text', (row) => row.form],
  ['campaign', 'text', (row) => row.campaign],
  ['submission_ref', 'text', (row) => row.submissionRef],
  ['policy', 'text', (row) => row.policy],
  ['test', 'bool', (row) => row.test],
  ['operation_key', 'text', (row) => row.operationKey],
  ['operation_kind', 'text', (row) => row.operationKind],
  ['endpoint', 'text', (row) => row.endpoint],
  ['class', 'text', (row) => row.class],
  ['code', 'text', (row) => row.code],
  ['status', 'int2', (row) => row.status],
  ['reference', 'text', (row) => row.reference],
  ['attempts', 'int4', (row) => row.attempts],
  ['provider_request_id', 'text', (row) => row.providerRequestId],
  ['traceparent', 'text', (row) => row.traceparent],
  ['tracestate', 'text', (row) => row.tracestate],
  ['submitted_at', 'timestamptz', (row) => row.submittedAt],
  ['first_seen_at', 'timestamptz', (row) => row.firstSeenAt],
  ['deadline_at', 'timestamptz', (row) => row.deadlineAt],
  ['dead_at', 'timestamptz', (row) => row.deadAt],
  ['owner', 'text', (row) => policyOf(row.class).owner],
  ['disposition', 'text', (row) => policyOf(row.class).disposition],
  ['respond_by', 'timestamptz', (row) => after(row.deadAt, policyOf(row.class).respondWithinMs)],
  ['delete_after', 'timestamptz', (row) => after(row.deadAt, policyOf(row.class).deleteAfterMs)],
  ['operations', 'jsonb', (row) => JSON.stringify(row.operations)],
  ['history', 'jsonb', (row) => JSON.stringify(row.history)],
  ['found_by', 'text', (row) => row.foundBy],
  ['topic', 'text', (row) => row.at?.topic],
  ['partition', 'int4', (row) => row.at?.partition],
  ['record_offset', 'int8', (row) => row.at?.offset],
  ['origin_topic', 'text', (row) => row.origin?.topic],
  ['origin_partition', 'int4', (row) => row.origin?.partition],
  ['origin_offset', 'int8', (row) => row.origin?.offset],
  ['schema_id', 'int4', (row) => row.schemaId],
  ['record_key', 'bytea', (row) => row.recordKey],
  ['event', 'bytea', (row) => row.event],
];
const names = columns.map(([name]) => name).join(', ');

/** A copy adds what the first one lacked (the check finds a delivery without its record) and changes nothing else. Of a new one its owner is to be told. */
const sql = `
WITH stored AS (
INSERT INTO dead_letter (${names}, received_at, checked_at)
SELECT ${names}, clock_now(), clock_now() FROM ${unnestColumns('input', columns)} ORDER BY identity
ON CONFLICT (identity) DO UPDATE SET
  topic = excluded.topic, partition = excluded.partition, record_offset = excluded.record_offset,
  origin_topic = excluded.origin_topic, origin_partition = excluded.origin_partition, origin_offset = excluded.origin_offset,
  record_key = excluded.record_key, schema_id = excluded.schema_id, event = excluded.event, form = excluded.form, campaign = excluded.campaign,
  organization = excluded.organization, source = excluded.source, submission_ref = excluded.submission_ref, policy = excluded.policy,
  status = coalesce(dead_letter.status, excluded.status)
WHERE dead_letter.topic IS NULL AND excluded.topic IS NOT NULL
RETURNING dead_letter_id, owner, class, destination, respond_by, test, (xmax = 0) AS added
), untold AS (
  INSERT INTO untold_letter (dead_letter_id, owner, class, destination, respond_by, test)
  SELECT dead_letter_id, owner, class, destination, respond_by, test FROM stored WHERE added
)
SELECT class, destination, test, added FROM stored`;

export interface StoredLetter {
  class: string;
  destination: string | null;
  test: boolean;
}

/** Stores letters, each once; gives those that were new. Throws DatabaseUnavailable, StatementFailed. */
export async function storeLetters(db: Sql, letters: readonly Letter[]): Promise<StoredLetter[]> {
  const once = [...new Map(letters.map((letter) => [letter.identity, letter])).values()];
  if (once.length === 0) return [];
  const rows = await db.sql<StoredLetter & { added: boolean }>('operator.store_letters', sql, columnValues(columns, once));
  return rows.filter(({ added }) => added);
}
