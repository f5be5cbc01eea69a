import { join } from 'node:path';
import type { Endpoints, Stack } from '#testkit';
import { UpstreamProducer } from '../support/traffic.js';
import { Needles } from './needles.js';
import { plantedValues } from './planted.js';
import { type Leak, scan, type Written } from './scan.js';
import { filesWritten, metricsWritten, tablesWritten, topicsWritten } from './sources.js';

type Scanned = Pick<Stack, 'runDir' | 'endpoints'>;

/** So many leaks are named; a value in every record of a topic would fill the report otherwise. */
const namedLeaks = 20;

/**
 * Scans everything that a stack wrote, while it still runs: topics, tables, logs and output (spans and HTTP bodies lie beside them), metrics. As a
 * control every planted value is produced to `leads` first, where the same reading and the same search must find each of them. Throws with the
 * places of what it found, or with what it could not find.
 */
export async function scanStack(stack: Scanned): Promise<void> {
  const endpoints = stack.endpoints();
  const values = plantedValues();
  await produceControl(endpoints, values);
  const needles = new Needles(values);
  const inLeads = new Set<number>();
  const report = new Report(needles);
  await report.read(
    'topics',
    withoutLeads(topicsWritten(endpoints), (bytes) => {
      for (const { value } of needles.find(bytes)) inLeads.add(value);
    }),
  );
  await report.read('tables', tablesWritten(endpoints.databaseUrl));
  await report.read('logs', filesWritten(join(stack.runDir, 'logs')));
  await report.read('metrics', metricsWritten(stack));
  report.end();
  const unfound = values.flatMap((_, index) => (inLeads.has(index) ? [] : [index]));
  if (unfound.length > 0) throw new Error(`The control did not find the planted values ${unfound.join(', ')} in the topic leads`);
}

/** Scans the logs and the output of a stack that has ended: its last words, and the spans that it held until then. */
export async function scanEnded({ runDir }: Pick<Stack, 'runDir'>): Promise<void> {
  const report = new Report(new Needles(plantedValues()));
  await report.read('logs at the end', filesWritten(join(runDir, 'logs')));
  report.end();
}

/** One record per planted value, of a source that nobody knows: intake seals and keeps it, and no lead comes of it. */
async function produceControl(endpoints: Endpoints, values: readonly string[]): Promise<void> {
  const upstream = await UpstreamProducer.connect(endpoints);
  try {
    await upstream.send(
      values.map((message, n) => ({ sourceEventId: `scan-control-${n}`, n, overrides: { source: 'scan-control', message } })),
    );
  } finally {
    await upstream.close();
  }
}

/** Hands what stands in `leads`, where personal data may be, to the control, and everything else on. */
async function* withoutLeads(written: AsyncIterable<Written>, control: (bytes: Buffer) => void): AsyncGenerator<Written> {
  for await (const piece of written) {
    if (piece.where.startsWith('topic leads/')) control(piece.bytes);
    else yield piece;
  }
}

class Report {
  private readonly leaks: Leak[] = [];
  private readonly lines: string[] = [];

  constructor(private readonly needles: Needles) {}

  async read(name: string, source: AsyncIterable<Written>): Promise<void> {
    const startedAt = performance.now();
    const { leaks, pieces, bytes } = await scan(source, this.needles);
    this.leaks.push(...leaks);
    const ms = Math.round(performance.now() - startedAt);
    this.lines.push(`${name}: ${pieces} pieces, ${bytes} bytes, ${leaks.length} leaks, ${ms} ms`);
    if (pieces === 0) throw new Error(`The scan read nothing of ${name}`);
  }

  end(): void {
    console.log(`scan\n${this.lines.join('\n')}`);
    const named = this.leaks.slice(0, namedLeaks).map(({ where, value, form }) => `${where}: value ${value} in form ${form}`);
    if (named.length > 0) throw new Error(`Personal data was written in ${this.leaks.length} places:\n${named.join('\n')}`);
  }
}
