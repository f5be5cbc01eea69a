import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { Stack } from '#testkit';
import { scan, type Written } from './scan.js';
import { filesWritten, metricsWritten, tablesWritten, topicsWritten } from './sources.js';

/** Scans everything that a stack wrote, while it still runs: topics, tables, logs and output (spans and HTTP bodies lie beside them), metrics. Throws through `expect`. */
export async function scanStack(stack: Stack): Promise<void> {
  const endpoints = stack.endpoints();
  const sources: Record<string, AsyncIterable<Written>> = {
    topics: topicsWritten(endpoints),
    tables: tablesWritten(endpoints.databaseUrl),
    logs: filesWritten(join(stack.runDir, 'logs')),
    metrics: metricsWritten(endpoints),
  };
  for (const [name, source] of Object.entries(sources)) {
    const { leaks, pieces, bytes } = await scan(source);
    console.log(`scan of ${name}: ${pieces} pieces, ${bytes} bytes, ${leaks.length} leaks`);
    expect({ name, leaks }).toEqual({ name, leaks: [] });
    expect(pieces).toBeGreaterThan(0);
  }
  // Control: the same search must find the planted values where they may be.
  const control = await scan(topicsWritten(endpoints, 'leads'));
  expect(control.leaks.length).toBeGreaterThan(0);
}
