import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Span } from '#runtime';

/** One request as a witness sees it, with its body read. */
export interface Call {
  method: string;
  /** Below the witness's base, e.g. `/leads`. */
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: string;
  receivedMs: number;
}

export interface Answer {
  status: number;
  /** Text goes out as it is, anything else as JSON. */
  body: unknown;
  headers?: Record<string, string>;
}

export interface Exchange {
  call: Call;
  res: ServerResponse;
  /** Continues the caller's trace; ended when the answer left or the connection broke. */
  span: Span;
}

/** A CRM or a chat: everything below one base path. */
export interface Witness {
  /** Span name of a path; credentials in a path must not come back in it. */
  routeOf(path: string): string;
  handle(exchange: Exchange): void;
}

const maxBodyBytes = 1_048_576;
const noQuery = new URLSearchParams();

/** First segment, the path below it, and the query of a request's URL. */
export function splitUrl(url: string): { base: string; path: string; query: URLSearchParams } {
  const mark = url.indexOf('?');
  const full = mark === -1 ? url : url.slice(0, mark);
  const query = mark === -1 ? noQuery : new URLSearchParams(url.slice(mark + 1));
  const second = full.indexOf('/', 1);
  if (second === -1) return { base: full.slice(1), path: '/', query };
  return { base: full.slice(1, second), path: full.slice(second), query };
}

/** Calls back once with the whole body, or with undefined when it is longer than 1 MiB; not at all when the client goes away. */
export function readBody(req: IncomingMessage, done: (body: string | undefined) => void): void {
  if (req.method === 'GET' || req.method === 'DELETE') {
    req.resume();
    done('');
    return;
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  req.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= maxBodyBytes) chunks.push(chunk);
  });
  req.on('end', () => done(bytes > maxBodyBytes ? undefined : Buffer.concat(chunks).toString('utf8')));
}

/** Sends an answer unless the connection is gone or was answered already. */
export function sendAnswer(res: ServerResponse, answer: Answer): void {
  if (res.destroyed || res.writableEnded) return;
  const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
  const length = Buffer.byteLength(text);
  if (answer.headers === undefined) {
    res.writeHead(answer.status, ['Content-Type', 'application/json', 'Content-Length', String(length)]);
  } else {
    res.setHeader('Content-Type', 'application/json');
    for (const [name, value] of Object.entries(answer.headers)) res.setHeader(name, value);
    res.setHeader('Content-Length', length);
    res.writeHead(answer.status);
  }
  res.end(text);
}

/** Parsed JSON object, or undefined for anything else. */
export function jsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
