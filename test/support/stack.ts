import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Endpoints } from '#testkit';
import { type Stack, startStack, testSize } from '#testkit';
import { person } from '../privacy/planted.js';
import { scanEnded, scanStack } from '../privacy/scan-stack.js';
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
  /** Scans everything that the stack wrote for personal data, and ends it also where some was found; throws what the scan threw. */
  close(): Promise<void>;
}

/** A whole stack with its clients, its spans kept beside its logs, and the bodies that intake answered likewise. */
export async function openStack(options: Parameters<typeof startStack>[0] = {}): Promise<OpenStack> {
  const spans = await SpanSink.open();
  const stack = await startStack({ ...options, env: { OTEL_EXPORTER_OTLP_ENDPOINT: spans.url, ...options?.env } }).catch(
    async (error: Error) => {
      await spans.close();
      throw error;
    },
  );
  const logs = join(stack.runDir, 'logs');
  mkdirSync(logs, { recursive: true });
  spans.writeTo(join(logs, 'spans.jsonl'));
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
      const scanned = await Promise.allSettled([inTime(scanStack(stack))]);
      const closed = await Promise.allSettled([upstream.close(), stack.stop(() => scanEnded(stack))]);
      await spans.close();
      for (const one of [...scanned, ...closed]) if (one.status === 'rejected') throw one.reason;
    },
  };
}

/** For the hook that closes a stack: a long run leaves logs and topics of gigabytes to read. */
export const closeMs = testSize() === 'long' ? 20 * 60_000 : 120_000;
/** A part of the stack that a failed test left away would keep the scan waiting, and the stack running. */
const scanLimitMs = closeMs / 2;

async function inTime(scanned: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The scan for personal data did not end within ${scanLimitMs} ms`)), scanLimitMs);
  });
  await Promise.race([scanned, late]).finally(() => clearTimeout(timer));
}

async function rejectedReasons(databaseUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  client.on('error', () => undefined);
  const { rows } = await client.query<{ class: string; code: string }>('select class, code from intake.rejected');
  await client.end();
  return rows.flatMap((row) => [row.class, row.code]);
}
