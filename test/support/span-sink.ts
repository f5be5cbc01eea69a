import { appendFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly attributes: Record<string, unknown>;
}

interface OtlpAttribute {
  key: string;
  value: Record<string, unknown>;
}

interface OtlpBody {
  resourceSpans?: {
    resource?: { attributes?: OtlpAttribute[] };
    scopeSpans?: { spans?: { name: string; traceId: string; spanId: string; parentSpanId?: string; attributes?: OtlpAttribute[] }[] }[];
  }[];
}

/**
 * An OTLP/HTTP JSON receiver inside the test: keeps every span, and appends every body to a file that the scan for personal data reads. What
 * comes before there is a file is kept for it.
 */
export class SpanSink {
  readonly spans: SeenSpan[] = [];
  private file: string | undefined;
  private early: string[] = [];

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async open(): Promise<SpanSink> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const sink = new SpanSink(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        sink.write(text);
        sink.keep(JSON.parse(text) as OtlpBody);
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    });
    return sink;
  }

  /** From now on every body goes to this file, those that came before first. Its folder is there. */
  writeTo(file: string): void {
    this.file = file;
    for (const text of this.early.splice(0)) this.write(text);
  }

  trace(traceId: string): SeenSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private write(text: string): void {
    if (this.file === undefined) this.early.push(text);
    else appendFileSync(this.file, `${text}\n`);
  }

  private keep(body: OtlpBody): void {
    for (const { resource, scopeSpans } of body.resourceSpans ?? []) {
      const service = String(plain(resource?.attributes)['service.name']);
      for (const span of (scopeSpans ?? []).flatMap((scope) => scope.spans ?? [])) {
        const { name, traceId, spanId, parentSpanId = '', attributes } = span;
        this.spans.push({ service, name, traceId, spanId, parentSpanId, attributes: plain(attributes) });
      }
    }
  }
}

function plain(attributes: OtlpAttribute[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
