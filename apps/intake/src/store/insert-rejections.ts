import { type Column, columnValues, type Sql, unnestColumns } from '#runtime';
import { addSql, dayOfSql, slotSql } from '../received/count-received.js';
import type { NewRejection } from './new-rejection.js';

const columns: readonly Column<NewRejection>[] = [
  ['rejected_id', 'uuid', (row) => row.rejectedId],
  ['organization', 'text', (row) => row.organization],
  ['source', 'text', (row) => row.source],
  ['external_ref', 'text', (row) => row.externalRef],
  ['class', 'text', (row) => row.class],
  ['code', 'text', (row) => row.code],
  ['errors', 'jsonb', (row) => JSON.stringify(row.errors)],
  ['event_id', 'uuid', (row) => row.eventId],
  ['topic', 'text', (row) => row.topic],
  ['partition', 'int4', (row) => row.partition],
  ['record_offset', 'int8', (row) => row.offset],
  ['record_at', 'timestamptz', (row) => row.recordAt],
  ['rejected_at', 'timestamptz', (row) => row.rejectedAt],
  ['key_id', 'text', (row) => row.sealed.keyId],
  ['wrapped_key', 'bytea', (row) => row.sealed.wrappedKey],
  ['sealed', 'bytea', (row) => row.sealed.sealed],
  ['email_key', 'int8', (row) => row.emailKey],
  ['phone_key', 'int8', (row) => row.phoneKey],
  ['outbox_topic', 'text', (row) => row.outbox.topic],
  ['outbox_headers', 'json', (row) => JSON.stringify(row.outbox.headers)],
];

/** How long a refused record is kept for whoever mends its source. */
const retention = '90 days';
const kept = columns
  .map(([name]) => name)
  .filter((name) => !name.startsWith('outbox_'))
  .join(', ');

/**
 * A record that comes again (its offset was not committed) is the same row, and is announced and counted once. A conflict was counted by whoever
 * decided that it is one.
 */
const sql = `
with input as materialized (
  select * from ${unnestColumns('input', columns)}
), stored as (
  insert into rejected (${kept}, delete_after)
  select ${kept}, rejected_at + interval '${retention}' from input order by topic, partition, record_offset, record_at
  on conflict (topic, partition, record_offset, record_at) do nothing
  returning rejected_id
), announced as (
  insert into outbox (topic, headers)
  select outbox_topic, outbox_headers from input where rejected_id in (select rejected_id from stored) order by position
), counted as (
  insert into received as tally (day, organization, source, slot, received, rejected)
  select ${dayOfSql('rejected_at')}, coalesce(organization, ''), coalesce(source, ''), ${slotSql}, count(*), count(*) from input
  where rejected_id in (select rejected_id from stored) and class <> 'conflict' group by 1, 2, 3 order by 1, 2, 3
  ${addSql}
)
select rejected_id from stored`;

/** Stores refused records and announces them by reference, all or none. Throws DatabaseUnavailable, StatementFailed. */
export async function insertRejections(db: Sql, rejections: readonly NewRejection[]): Promise<void> {
  if (rejections.length > 0) await db.sql('intake.insert_rejections', sql, columnValues(columns, rejections));
}
