import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Endpoints } from '#testkit';
import { type Stack, startStack } from '#testkit';
import { person } from '../privacy/planted.js';
import { Sandbox } from './sandbox.js';
import { SpanSink } from './span-sink.js';
import { IntakeClient, UpstreamProducer } from './traffic.js';

export interface OpenStack {
  readonly stack: Stack;
  readonly intake: IntakeClient;
  readonly upstream: UpstreamProducer;
  readonly sandbox: Sandbox;
  readonly spans: SpanSink;
  endpoints(): Endpoints;
  /** Classes and codes of all leads that intake refused and kept. */
  rejectedReasons(): Promise<string[]>;
  /** Runs `check` while one line with a planted value stands in the logs. */
  withPlantedLogLine(check: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** A whole stack with its clients, its spans kept beside its logs, and the bodies that intake answered likewise. */
export async function openStack(options: Parameters<typeof startStack>[0] = {}): Promise<OpenStack> {
  let logs: string | undefined;
  const spans = await SpanSink.open(() => logs && join(logs, 'spans.jsonl'));
  const stack = await startStack({ ...options, env: { OTEL_EXPORTER_OTLP_ENDPOINT: spans.url, ...options?.env } }).catch(
    async (error: Error) => {
      await spans.close();
      throw error;
    },
  );
  logs = join(stack.runDir, 'logs');
  mkdirSync(logs, { recursive: true });
  const endpoints = stack.endpoints();
  const upstream = await UpstreamProducer.connect(endpoints);
  return {
    stack,
    intake: new IntakeClient(endpoints, join(logs, 'http-bodies.jsonl')),
    upstream,
    sandbox: new Sandbox(endpoints),
    spans,
    endpoints: () => stack.endpoints(),
    rejectedReasons: () => rejectedReasons(endpoints.databaseUrl),
    withPlantedLogLine: async (check) => {
      const planted = join(stack.runDir, 'logs', 'planted.log');
      appendFileSync(planted, `${JSON.stringify({ level: 30, msg: `mail to ${person(0).email}` })}\n`);
      try {
        await check();
      } finally {
        rmSync(planted);
      }
    },
    close: async () => {
      await upstream.close();
      await stack.stop();
      await spans.close();
    },
  };
}

async function rejectedReasons(databaseUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  client.on('error', () => undefined);
  const { rows } = await client.query<{ class: string; code: string }>('select class, code from intake.rejected');
  await client.end();
  return rows.flatMap((row) => [row.class, row.code]);
}
