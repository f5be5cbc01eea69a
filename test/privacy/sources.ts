import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Endpoints, Stack } from '#testkit';
import { eventually } from '../support/eventually.js';
import { readTopic } from '../support/topics.js';
import type { Written } from './scan.js';

/** Every record of every topic: key, value and headers, decompressed, from offset 0. `leads` is the one that may hold personal data. */
export async function* topicsWritten(endpoints: Endpoints): AsyncGenerator<Written> {
  for await (const record of readTopic(endpoints.kafkaBrokers, (topic) => !topic.startsWith('__'))) {
    const where = `topic ${record.topic}/${record.partition}@${record.offset}`;
    const headers = Object.entries(record.headers).flatMap(([name, value]) => [Buffer.from(name), value]);
    yield { where, bytes: Buffer.concat([record.key ?? empty, zero, record.value ?? empty, zero, ...headers]) };
  }
}

/** Every row of every table of every schema of ours and of the registry, sealed columns included: a ciphertext holds no plain value either. */
export async function* tablesWritten(databaseUrl: string): AsyncGenerator<Written> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ schema: string; name: string }>(
      `select table_schema as schema, table_name as name from information_schema.tables
       where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'`,
    );
    for (const { schema, name } of tables) yield* tableWritten(client, `"${schema}"."${name}"`);
  } finally {
    await client.end();
  }
}

async function* tableWritten(client: pg.Client, table: string): AsyncGenerator<Written> {
  await client.query('begin read only');
  await client.query(`declare piece no scroll cursor for select * from ${table}`);
  for (;;) {
    const { rows } = await client.query<Record<string, unknown>>('fetch 1000 from piece');
    for (const row of rows) {
      const bytes = Object.values(row).flatMap((value) => [
        Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value) ?? ''),
        zero,
      ]);
      yield { where: `table ${table}`, bytes: Buffer.concat(bytes) };
    }
    if (rows.length < 1000) break;
  }
  await client.query('commit');
}

/** Every file below a folder: logs, standard output, spans, crash output, problem bodies collected by the tests. */
export async function* filesWritten(folder: string): AsyncGenerator<Written> {
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, entry);
    if (statSync(path).isFile()) yield { where: `file ${entry}`, bytes: readFileSync(path) };
  }
}

/** The metrics page of every process; one that is just being started again is waited for. */
export async function* metricsWritten(stack: Pick<Stack, 'endpoints'>): AsyncGenerator<Written> {
  for (const [app, url] of Object.entries(stack.endpoints().metrics)) {
    const page = await eventually(async () => (await fetch(url)).text());
    yield { where: `metrics of ${app}`, bytes: Buffer.from(page) };
  }
}

const zero = Buffer.from([0]);
const empty = Buffer.alloc(0);
