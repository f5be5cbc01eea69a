import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { z } from 'zod';
import { problem, problemContentType } from '../http/problem.js';
import type { Logger } from '../logging/logger.js';
import { metricsText } from '../metrics/expose.js';
import { metrics, registry } from '../metrics/metrics.js';
import { bearerCallers } from './bearer.js';
import { callRoute, type InternalHandler, type InternalRoute, Refusal } from './call-route.js';
import { type ReadinessCheck, readinessReport } from './readiness.js';

export interface InternalServerOptions {
  host: string;
  port: number;
  /** Bearer token per caller name. */
  tokens: Record<string, string>;
  readiness: ReadinessCheck[];
  logger: Logger;
}

export interface InternalServer {
  /** The port that was bound (differs from the option when that was 0). */
  readonly port: number;
  /**
   * Adds POST `path` (starts with /internal/v1/). The handler's result is the JSON answer. A body that does not fit is 422, DatabaseUnavailable
   * and InternalUnavailable from the handler are 503, any other error is 500 without a word about it.
   */
  route<B extends z.ZodType>(path: string, options: InternalRoute<B>, handler: InternalHandler<B>): void;
  addReadiness(check: ReadinessCheck): void;
  /** Stops listening, waits up to 2 s for requests in flight, then closes every connection. */
  stop(): Promise<void>;
}

/** Longer than our clients keep an idle connection, so that no request meets a connection that is just being closed. */
const keepAliveMs = 75_000;
const stopMs = 2_000;

/** Listens with GET /metrics, /health/live, /health/ready (open) and the POST routes added later (bearer). */
export async function startInternalServer(options: InternalServerOptions): Promise<InternalServer> {
  const { host, port, tokens, logger } = options;
  const readiness = [...options.readiness];
  const routes = new Map<string, (request: IncomingMessage, caller: string) => Promise<unknown>>();
  const callerOf = bearerCallers(tokens);

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url?.split('?', 1)[0] ?? '/';
    if (request.method === 'GET' && (await answerOpen(path, readiness, response))) return;
    const route = routes.get(path);
    if (route === undefined || request.method !== 'POST') return refuse(response, new Refusal(404, 'not-found', 'There is no such route'));
    const caller = callerOf(request.headers.authorization);
    let status = 200;
    try {
      if (caller === undefined) throw new Refusal(401, 'unauthorized', 'The bearer token is missing or unknown');
      send(response, json(200, await route(request, caller)));
    } catch (error) {
      const refusal = Refusal.from(error);
      status = refusal.status;
      if (status >= 500) logger.warn({ err: error, route: path, caller, status }, 'Internal request failed');
      refuse(response, refusal);
    }
    metrics.internalRequests.inc({ route: path, caller: caller ?? 'unknown', status: String(status) });
  };

  const server = createServer({ keepAliveTimeout: keepAliveMs, requestTimeout: 30_000 }, (request, response) => {
    answer(request, response).catch((error: unknown) => {
      logger.warn({ err: error }, 'Internal request failed');
      response.destroy();
    });
  });
  await listenOn(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    route: (path, route, handler) => {
      routes.set(path, (request, caller) => callRoute({ route, handler, request, caller }));
    },
    addReadiness: (check) => readiness.push(check),
    stop: () => stop(server),
  };
}

async function answerOpen(path: string, readiness: readonly ReadinessCheck[], response: ServerResponse): Promise<boolean> {
  if (path === '/health/live') send(response, json(200, { live: true }));
  else if (path === '/health/ready') {
    const report = await readinessReport(readiness);
    send(response, json(report.ready ? 200 : 503, report));
  } else if (path === '/metrics') send(response, { status: 200, contentType: registry.contentType, body: await metricsText() });
  else return false;
  return true;
}

function refuse(response: ServerResponse, { status, type, title, errors }: Refusal): void {
  if (status === 413) response.setHeader('connection', 'close');
  if (status === 503) response.setHeader('retry-after', '1');
  const body = JSON.stringify(problem(status, type, title, errors === undefined ? {} : { errors }));
  send(response, { status, contentType: problemContentType, body });
}

const json = (status: number, value: unknown): Answer => ({ status, contentType: 'application/json', body: JSON.stringify(value) });

interface Answer {
  status: number;
  contentType: string;
  body: string;
}

function send(response: ServerResponse, { status, contentType, body }: Answer): void {
  response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' });
  response.end(body);
}

function listenOn(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), stopMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}
