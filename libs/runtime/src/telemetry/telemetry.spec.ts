import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { startTelemetry } from './telemetry.js';
import { parseTraceContext, type TraceContext } from './trace-context.js';

interface OtlpAttribute {
  key: string;
  value: { stringValue?: string; intValue?: number; boolValue?: boolean };
}
interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: OtlpAttribute[];
  links: { traceId: string; spanId: string; attributes: OtlpAttribute[] }[];
  status: { code: number; message?: string };
  traceState?: string;
}
interface OtlpRequest {
  resourceSpans: { resource: { attributes: OtlpAttribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[];
}

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

/** An OTLP/HTTP endpoint of a few lines that keeps what it is sent. */
async function otlpSink() {
  const requests: OtlpRequest[] = [];
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url === '/v1/traces') requests.push(JSON.parse(Buffer.concat(chunks).toString()) as OtlpRequest);
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const spans = () =>
    requests.flatMap(({ resourceSpans }) => resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
  return { endpoint: `http://127.0.0.1:${port}/`, requests, spans };
}

const plain = (attributes: OtlpAttribute[]) => Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

describe('telemetry', () => {
  it('exports a span with its parent, links, attributes and outcome', async () => {
    const sink = await otlpSink();
    const telemetry = startTelemetry({ service: 'intake', endpoint: sink.endpoint, ratio: 1 });
    const parent = parseTraceContext({ traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'vendor=1' }) as TraceContext;
    const other = parseTraceContext({
      traceparent: `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`,
      tracestate: 'vendor=free-text',
    }) as TraceContext;
    const startTime = Date.now() - 1_000;
    const span = telemetry.startSpan('process lead.accepted', {
      kind: 'consumer',
      parent,
      links: [{ context: other, attributes: { 'link.relation': 'retry_of' } }],
      attributes: { 'lead.event_id': 'e1', skipped: undefined },
      startTime,
    });
    span.set({ attempt: 2, sampled: true });
    span.end({ error: 'throttled' });
    span.end();
    span.set({ late: 'x' });
    await telemetry.shutdown();

    const [exported] = sink.spans();
    expect(sink.spans()).toHaveLength(1);
    expect(exported).toMatchObject({
      traceId: parent.traceId,
      parentSpanId: parent.spanId,
      spanId: span.context.spanId,
      name: 'process lead.accepted',
      kind: 5,
      traceState: 'vendor=1',
      status: { code: 2, message: 'throttled' },
    });
    expect(plain(exported?.attributes ?? [])).toEqual({ 'lead.event_id': 'e1', attempt: 2, sampled: true, 'error.type': 'throttled' });
    expect(exported?.links[0]).toMatchObject({ traceId: other.traceId, spanId: other.spanId });
    expect(JSON.stringify(exported)).not.toContain('free-text');
    expect(plain(exported?.links[0]?.attributes ?? [])).toEqual({ 'link.relation': 'retry_of' });
    expect(BigInt(exported?.startTimeUnixNano ?? 0)).toBe(BigInt(startTime) * 1_000_000n);
    expect(BigInt(exported?.endTimeUnixNano ?? 0) - BigInt(startTime) * 1_000_000n).toBeGreaterThanOrEqual(999_000_000n);
  });

  it('says who it is and nothing of the machine, the user or the command line', async () => {
    const sink = await otlpSink();
    const telemetry = startTelemetry({ service: 'crm-writer', endpoint: sink.endpoint, ratio: 1 });
    telemetry.startSpan('work', { kind: 'internal' }).end();
    await telemetry.shutdown();
    const attributes = plain(sink.requests[0]?.resourceSpans[0]?.resource.attributes ?? []);
    expect(attributes).toEqual({ 'service.name': 'crm-writer', 'process.pid': process.pid });
  });

  it('cuts an attribute that is no id or name', async () => {
    const sink = await otlpSink();
    const telemetry = startTelemetry({ service: 'intake', endpoint: sink.endpoint, ratio: 1 });
    telemetry.startSpan('work', { kind: 'internal', attributes: { long: 'x'.repeat(5_000) } }).end();
    await telemetry.shutdown();
    expect(String(plain(sink.spans()[0]?.attributes ?? []).long)).toHaveLength(256);
  });

  it('gives a child the trace, the decision and the state of its parent', () => {
    const telemetry = startTelemetry({ service: 'intake', ratio: 1 });
    const unsampled = parseTraceContext({
      traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`,
      tracestate: 'vendor=1',
    }) as TraceContext;
    const { context } = telemetry.startSpan('child', { kind: 'client', parent: unsampled });
    expect(context).toMatchObject({ traceId: unsampled.traceId, sampled: false, tracestate: 'vendor=1' });
    expect(context.spanId).not.toBe(unsampled.spanId);
    expect(parseTraceContext(context)).toEqual(context);
  });

  it('makes valid ids of its own without an endpoint', () => {
    const telemetry = startTelemetry({ service: 'intake', ratio: 1 });
    const roots = Array.from({ length: 200 }, () => telemetry.startSpan('root', { kind: 'server' }).context);
    expect(new Set(roots.map(({ traceId }) => traceId)).size).toBe(200);
    expect(roots.every((context) => parseTraceContext(context)?.sampled)).toBe(true);
  });

  it('samples about the share it is told of new traces, and exports nothing of the others', async () => {
    const sink = await otlpSink();
    const telemetry = startTelemetry({ service: 'intake', endpoint: sink.endpoint, ratio: 0.25 });
    const spans = Array.from({ length: 2_000 }, () => telemetry.startSpan('root', { kind: 'server' }));
    for (const span of spans) span.end();
    await telemetry.shutdown();
    const sampled = spans.filter(({ context }) => context.sampled).length;
    expect(sampled).toBeGreaterThan(350);
    expect(sampled).toBeLessThan(650);
    expect(sink.spans()).toHaveLength(sampled);
    const off = startTelemetry({ service: 'intake', ratio: 0 });
    expect(off.startSpan('root', { kind: 'server' }).context.sampled).toBe(false);
  });

  it('shuts down quietly when nobody listens at the endpoint', async () => {
    const telemetry = startTelemetry({ service: 'intake', endpoint: 'http://127.0.0.1:1', ratio: 1 });
    telemetry.startSpan('work', { kind: 'internal' }).end();
    await expect(telemetry.shutdown()).resolves.toBeUndefined();
  });
});
