import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Logger, metrics, parseTraceContext, type SourceConfig, type Span, type Telemetry } from '#runtime';
import { type Caller, setCaller } from './caller.js';
import { refusals } from './refusal.js';
import { sendRefusal } from './send.js';
import type { SourceKeys } from './source-keys.js';
import { TokenBucket } from './token-bucket.js';

/** From the first byte of a request to its answer. The contract says 3 s. */
export const answerWithinMs = 2_500;

export interface DoorTools {
  keys: SourceKeys;
  telemetry: Telemetry;
  logger: Logger;
  /** Told what became of each request to hand in a lead, once it is answered. */
  onSubmission?(source: SourceConfig, outcome: string): void;
}

/**
 * What every request under /v1/ goes through, in this order: its time starts to run, its key is checked, its share of requests is checked, its
 * span begins. At the end: one log line, the metrics, the span.
 */
export function installDoor(instance: FastifyInstance, tools: DoorTools): void {
  const limits = new RateLimits();
  // Bodies stay bytes: they are read where a refusal can name the field.
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  instance.addHook('onRequest', (request, reply, done) => {
    if (request.url.startsWith('/v1/') && !admit(request, reply, { ...tools, limits })) return;
    done();
  });
}

/** True: the request may go on. False: it was answered. */
function admit(request: FastifyRequest, reply: FastifyReply, tools: DoorTools & { limits: RateLimits }): boolean {
  const startedMs = performance.now();
  const source = tools.keys.sourceOf(request.headers.authorization);
  if (!source) {
    metrics.authFailures.inc({ source: 'unknown' });
    sendRefusal(reply, refusals.unauthorized());
    return false;
  }
  const caller: Caller = { source, span: serverSpan(request, source, tools.telemetry), startedMs };
  setCaller(request, caller);
  const timer = setTimeout(() => answerLate(request, reply, caller), answerWithinMs);
  // Emitted once, also where the client hung up before its answer.
  reply.raw.once('close', () => {
    clearTimeout(timer);
    finish(request, reply, { ...tools, caller });
  });
  const retryAfterS = tools.limits.take(source, request.method);
  if (retryAfterS > 0) {
    caller.outcome = 'rate-limited';
    sendRefusal(reply, refusals.rateLimited(retryAfterS));
    return false;
  }
  if (isEncoded(request)) {
    const refusal = refusals.contentEncoding();
    caller.outcome = refusal.outcome;
    sendRefusal(reply, refusal);
    return false;
  }
  return true;
}

/** A compressed body: it would only be called no JSON, and what it unpacks to has no limit. */
function isEncoded(request: FastifyRequest): boolean {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase();
  return encoding !== undefined && encoding !== '' && encoding !== 'identity';
}

/** Route that leads are handed in at. */
const submissions = '/v1/leads';
/** As nginx calls it; never sent, only logged. */
const clientClosedRequest = 499;

/** Answers for whoever does not: the client whose body does not come, or PostgreSQL. Whatever is still running finds the answer sent. */
function answerLate(request: FastifyRequest, reply: FastifyReply, caller: Caller): void {
  if (reply.sent) return;
  const refusal = request.raw.complete ? refusals.unavailable() : refusals.slowRequest();
  caller.outcome = refusal.outcome;
  sendRefusal(reply, refusal);
}

/** Continues the caller's trace where the site file trusts it, else begins one that is linked to it. */
function serverSpan(request: FastifyRequest, source: SourceConfig, telemetry: Telemetry): Span {
  const upstream = parseTraceContext({
    traceparent: single(request.headers.traceparent),
    tracestate: single(request.headers.tracestate),
  });
  const route = request.routeOptions.url ?? 'unknown';
  return telemetry.startSpan(`${request.method} ${route}`, {
    kind: 'server',
    ...(upstream && (source.trustedTrace ? { parent: upstream } : { links: [{ context: upstream }] })),
    attributes: { 'http.request.method': request.method, 'http.route': route, 'lead.source': source.id },
  });
}

const single = (header: string | string[] | undefined): string | undefined => (Array.isArray(header) ? header.at(-1) : header);

function finish(request: FastifyRequest, reply: FastifyReply, tools: DoorTools & { caller: Caller }): void {
  const { caller, logger, onSubmission } = tools;
  const { source, span, outcome = 'hung_up' } = caller;
  const status = reply.raw.writableFinished ? reply.statusCode : clientClosedRequest;
  const durationMs = performance.now() - caller.startedMs;
  span.set({ 'http.response.status_code': status, 'lead.event_id': caller.eventId });
  span.end(status >= 500 ? { error: outcome } : undefined);
  if (request.method === 'POST' && !caller.test) {
    metrics.intakeRequests.inc({ source: source.id, outcome });
    metrics.intakeDuration.observe({ door: 'http' }, durationMs / 1_000);
  }
  if (request.method === 'POST' && request.routeOptions.url === submissions) onSubmission?.(source, outcome);
  logger.unit({
    unit: 'http',
    method: request.method,
    route: request.routeOptions.url ?? 'unknown',
    source: source.id,
    organization: source.organization,
    event_id: caller.eventId,
    test: caller.test,
    decision: outcome,
    status,
    duration_ms: Math.round(durationMs * 10) / 10,
    trace_id: span.context.traceId,
  });
}

/** Each source has its own share, writing and reading apart. */
class RateLimits {
  private readonly buckets = new Map<string, TokenBucket>();

  take(source: SourceConfig, method: string): number {
    const kind = method === 'POST' ? 'write' : 'read';
    const name = `${kind} ${source.organization} ${source.id}`;
    let bucket = this.buckets.get(name);
    if (!bucket) {
      bucket = new TokenBucket(source.requestsPerSecond);
      this.buckets.set(name, bucket);
    }
    return bucket.take();
  }
}
