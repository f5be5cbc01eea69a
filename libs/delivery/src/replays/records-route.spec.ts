import { describe, expect, it } from '@jest/globals';
import { startTelemetry } from '#runtime';
import { type RecordsRead, type RecordsRouteOptions, recordsReadRequest, recordsRoute } from './records-route.js';

const telemetry = startTelemetry({ service: 'rig', ratio: 0 });

/** Destinations whose reads a test answers; what was asked of them. */
function routeOver(answers: Record<string, RecordsRead | Error>) {
  const asked: unknown[] = [];
  const verified: RecordsRouteOptions['verified'] = (destination) => {
    const answer = answers[destination];
    const named = { name: destination, timeoutMs: 5_000, lookupTimeoutMs: 3_000 };
    if (answer === undefined) return named;
    const read = async ({ trace: _, ...query }: { trace?: unknown }) => {
      asked.push({ destination, ...query });
      if (answer instanceof Error) throw answer;
      return answer;
    };
    return { ...named, read };
  };
  const route = recordsRoute({ verified, telemetry });
  const ask = async (items: { destination: string; kind: string; ref: string }[], within_ms?: number) =>
    (await route(recordsReadRequest.parse({ items, within_ms }))).items;
  return { ask, asked };
}
const contact = (ref: string, destination = 'crm') => ({ destination, kind: 'contact', ref });

describe('reading records', () => {
  it('asks each destination once for each kind, and says of each record who changed it when', async () => {
    const records = [
      { ref: 'C-1', version: '7', changedAt: '2026-01-01T00:00:00Z', changedBy: 'us' as const },
      { ref: 'C-2', changedBy: 'other' as const },
    ];
    const { ask, asked } = routeOver({ crm: { ok: true, records } });
    expect(await ask([contact('C-2'), contact('C-9'), contact('C-1'), contact('C-1')])).toEqual([
      { result: 'found', changed_by: 'other' },
      { result: 'absent' },
      { result: 'found', version: '7', changed_at: '2026-01-01T00:00:00Z', changed_by: 'us' },
      { result: 'found', version: '7', changed_at: '2026-01-01T00:00:00Z', changed_by: 'us' },
    ]);
    expect(asked).toEqual([{ destination: 'crm', kind: 'contact', refs: ['C-2', 'C-9', 'C-1'], timeoutMs: 3_000 }]);
  });

  it('says of what could not be read why, and of the others what there is', async () => {
    const { ask } = routeOver({
      away: { ok: false, class: 'transient', code: 'timeout' },
      broken: new Error('boom'),
      crm: { ok: true, records: [{ ref: 'C-1' }] },
    });
    expect(await ask([contact('C-1', 'away'), contact('C-1', 'broken'), contact('C-1', 'none'), contact('C-1')])).toEqual([
      { result: 'unknown', code: 'timeout' },
      { result: 'unknown', code: 'connector_threw' },
      { result: 'unknown', code: 'no_read' },
      { result: 'found' },
    ]);
  });

  it('takes no longer than whoever asks waits', async () => {
    const { ask, asked } = routeOver({ crm: { ok: true, records: [] } });
    await ask([contact('C-1')], 500);
    expect(asked).toMatchObject([{ timeoutMs: 500 }]);
    await expect(ask([])).rejects.toThrow();
  });
});
