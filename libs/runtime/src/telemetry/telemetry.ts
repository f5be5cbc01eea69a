import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace';
import { randomHex } from '../random.js';
import { RecordedSpan } from './recorded-span.js';
import type { Span, SpanOptions } from './span.js';
import { type TraceContext, traceContext } from './trace-context.js';

export interface Telemetry {
  startSpan(name: string, options: SpanOptions): Span;
  /** Flushes finished spans, waiting 3 s at most. Never throws. */
  shutdown(): Promise<void>;
}

export interface TelemetryOptions {
  service: string;
  /** OTLP/HTTP base URL (without /v1/traces). Unset: only ids are made. */
  endpoint?: string;
  /** Share of new traces that are sampled, 0 to 1. A parent's decision always stands. */
  ratio: number;
}

const flushMs = 3_000;
/** A burst of several thousand leads a second between two exports; what does not fit is dropped, never waited for. */
const maxQueuedSpans = 16_384;
const maxSpansPerExport = 1_024;
const exportEveryMs = 1_000;

/**
 * Starts span creation for one process: parent-based ratio sampling, batched OTLP/HTTP export. The resource holds the service's name and
 * process id alone: the SDK's own detectors would add the command line and the user.
 */
export function startTelemetry({ service, endpoint, ratio }: TelemetryOptions): Telemetry {
  const processor = endpoint === undefined ? undefined : batchProcessor(endpoint);
  const resource = resourceFromAttributes({ 'service.name': service, 'process.pid': process.pid });
  return {
    startSpan: (name, options) => startSpan({ name, options, ratio, processor, resource }),
    shutdown: async () => {
      if (processor !== undefined) await settleWithin(processor.shutdown(), flushMs);
    },
  };
}

function batchProcessor(endpoint: string): BatchSpanProcessor {
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  return new BatchSpanProcessor({
    exporter: new OTLPTraceExporter({ url, timeoutMillis: flushMs }),
    maxQueueSize: maxQueuedSpans,
    maxExportBatchSize: maxSpansPerExport,
    scheduledDelayMillis: exportEveryMs,
    exportTimeoutMillis: flushMs,
  });
}

interface StartArgs {
  name: string;
  options: SpanOptions;
  ratio: number;
  processor: BatchSpanProcessor | undefined;
  resource: Resource;
}

function startSpan({ name, options, ratio, processor, resource }: StartArgs): Span {
  const context = childOrRoot(options.parent, ratio);
  if (processor === undefined || !context.sampled) return new UnrecordedSpan(context);
  return new RecordedSpan({ name, context, resource, onEnd: (span) => processor.onEnd(span) }, options);
}

function childOrRoot(parent: TraceContext | undefined, ratio: number): TraceContext {
  if (parent !== undefined) return traceContext(parent.traceId, randomHex(8), parent);
  const traceId = randomHex(16);
  return traceContext(traceId, randomHex(8), { sampled: sampledByRatio(traceId, ratio) });
}

/** Decided by the id itself, so that services with the same ratio agree without talking. */
function sampledByRatio(traceId: string, ratio: number): boolean {
  if (ratio >= 1) return true;
  return Number.parseInt(traceId.slice(0, 12), 16) < ratio * 2 ** 48;
}

/** Ids only. */
class UnrecordedSpan implements Span {
  constructor(readonly context: TraceContext) {}
  set(): void {}
  end(): void {}
}

async function settleWithin(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.then(noop, noop), timeout]);
  clearTimeout(timer);
}

function noop(): void {}
