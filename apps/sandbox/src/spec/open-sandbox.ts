import type { Span, SpanOptions, Telemetry } from '#runtime';
import { Sandbox, type SandboxOptions } from '../sandbox.js';

export interface Answered {
  status: number;
  headers: Headers;
  body: unknown;
}

export interface OpenSandbox {
  url: string;
  /** Spans in the order they were started. */
  spans: { name: string; options: SpanOptions; ended: boolean }[];
  /** @param request method and path, e.g. `POST /crm/leads`; @param body text as it is, anything else as JSON */
  call(request: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>;
  close(): Promise<void>;
}

/** A sandbox on a free port for a spec, with spans kept instead of exported. */
export async function openSandbox(options: Partial<SandboxOptions> = {}): Promise<OpenSandbox> {
  const spans: OpenSandbox['spans'] = [];
  const context = {
    traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    sampled: true,
  };
  const telemetry: Telemetry = {
    startSpan(name, spanOptions): Span {
      const kept = { name, options: spanOptions, ended: false };
      spans.push(kept);
      return {
        context,
        set: () => undefined,
        end: () => {
          kept.ended = true;
        },
      };
    },
    shutdown: () => Promise.resolve(),
  };
  const sandbox = new Sandbox({ telemetry, ...options });
  const url = await sandbox.start('127.0.0.1', 0);
  const call: OpenSandbox['call'] = async (request, body, headers = {}) => {
    const [method, path = ''] = request.split(' ');
    const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(url + path, { method, body: sent, headers: { 'content-type': 'application/json', ...headers } });
    const text = await response.text();
    const isJson = response.headers.get('content-type') === 'application/json' && text !== '';
    return { status: response.status, headers: response.headers, body: isJson ? parsed(text) : text };
  };
  return { url, spans, call, close: () => sandbox.stop() };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
