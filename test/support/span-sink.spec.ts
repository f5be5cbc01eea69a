import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { SpanSink } from './span-sink.js';

it('writes what came before there was a file in front of what comes later', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'span-sink-'));
  const sink = await SpanSink.open();
  const send = (name: string) =>
    fetch(sink.url, {
      method: 'POST',
      body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [{ name, traceId: 't', spanId: 's' }] }] }] }),
    });
  try {
    await send('early');
    sink.writeTo(join(folder, 'spans.jsonl'));
    await send('late');
    expect(readFileSync(join(folder, 'spans.jsonl'), 'utf8')).toMatch(/early.*\n.*late.*\n$/);
    expect(sink.trace('t').map(({ name }) => name)).toEqual(['early', 'late']);
  } finally {
    await sink.close();
    rmSync(folder, { recursive: true });
  }
});
