import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import pg from 'pg';
import { type Column, coalesce, columnValues, type Database, newEventId, unnestColumns } from '#runtime';
import { insertLeads } from '../../../apps/intake/src/store/insert-leads.js';
import { copyOf, sampleLead } from './insert-rate.js';

/** Two tables, no checks, no keys, nothing sealed: the least that "saved, then announced" can cost. */
export const bareTables = `
create table bare_lead (event_id uuid primary key, source_event_id text not null, body bytea not null, accepted_at timestamptz not null default now());
create table bare_outbox (id bigint generated always as identity primary key, event_id uuid not null, value bytea not null)`;

interface Row {
  eventId: string;
  sourceEventId: string;
  body: Buffer;
}

const columns: readonly Column<Row>[] = [
  ['event_id', 'uuid', (row) => row.eventId],
  ['source_event_id', 'text', (row) => row.sourceEventId],
  ['body', 'bytea', (row) => row.body],
];
const insertMany = `
with input as materialized (select * from ${unnestColumns('input', columns)}),
saved as (insert into bare_lead (event_id, source_event_id, body) select event_id, source_event_id, body from input)
insert into bare_outbox (event_id, value) select event_id, body from input`;
const insertOne = `
with saved as (insert into bare_lead (event_id, source_event_id, body) values ($1, $2, $3))
insert into bare_outbox (event_id, value) values ($1, $3)`;

/** The lower bound we measure ourselves against: bare node:http, the same coalescing, named statements, binary parameters. */
export function coalescingServer(url: string): Server {
  const pool = new pg.Pool({ connectionString: url, max: 3 });
  const save = coalesce<Row, true>({
    maxBatch: 256,
    maxWaitMs: 0,
    maxInFlight: 3,
    run: async (rows) => {
      await pool.query({ name: 'many', text: insertMany, values: columnValues(columns, rows) });
      return rows.map((): true => true);
    },
  });
  return bareServer(save);
}

/** Bare HTTP in front of the very statement and rows that intake saves, all prepared beforehand: what is left out is everything that intake does. */
export function sameRowsServer(db: Database): Server {
  const sample = sampleLead(db);
  const save = coalesce<true, true>({
    maxBatch: 256,
    maxWaitMs: 0,
    maxInFlight: 3,
    run: async (requests) => {
      await insertLeads(
        db,
        requests.map(() => copyOf(sample)),
      );
      return requests;
    },
  });
  return bareServer(() => save(true));
}

/** The usual way: one transaction per request, here one named statement, through a pool at its best size on two cores. */
export function perRequestServer(url: string): Server {
  const pool = new pg.Pool({ connectionString: url, max: 16 });
  return bareServer((row) => pool.query({ name: 'one', text: insertOne, values: [row.eventId, row.sourceEventId, row.body] }));
}

function bareServer(save: (row: Row) => Promise<unknown>): Server {
  return createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => void answer(chunks, save, response));
    request.on('error', () => response.destroy());
  });
}

async function answer(chunks: Buffer[], save: (row: Row) => Promise<unknown>, response: ServerResponse<IncomingMessage>): Promise<void> {
  const body = Buffer.concat(chunks);
  const { source_event_id: sourceEventId } = JSON.parse(body.toString('utf8')) as { source_event_id: string };
  const eventId = newEventId();
  await save({ eventId, sourceEventId, body });
  response.writeHead(202, { 'content-type': 'application/json' }).end(`{"event_id":"${eventId}","status":"accepted"}`);
}
