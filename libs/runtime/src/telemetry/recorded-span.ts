import { type Link, type Attributes as OtelAttributes, SpanKind as OtelKind, type SpanContext, SpanStatusCode } from '@opentelemetry/api';
import { TraceState } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { Attributes, Span, SpanKind, SpanOptions } from './span.js';
import type { TraceContext } from './trace-context.js';

type HrTime = [number, number];

/** Long enough for every id and url path of ours; a longer one is a mistake that must not reach the viewer whole. */
const maxAttributeLength = 256;
const scope = { name: 'lead-delivery' };
const noEvents: never[] = [];
const kinds: Record<SpanKind, OtelKind> = {
  internal: OtelKind.INTERNAL,
  server: OtelKind.SERVER,
  client: OtelKind.CLIENT,
  producer: OtelKind.PRODUCER,
  consumer: OtelKind.CONSUMER,
};

export interface SpanIdentity {
  name: string;
  context: TraceContext;
  resource: Resource;
  /** Called once, with the finished span. */
  onEnd(span: RecordedSpan): void;
}

/**
 * A sampled span. It implements the SDK's ReadableSpan itself, so that it goes to the SDK's batch exporter without the SDK's tracer,
 * context manager and limits, which cost several times as much.
 */
export class RecordedSpan implements Span, ReadableSpan {
  readonly kind: OtelKind;
  readonly parentSpanContext?: SpanContext;
  readonly startTime: HrTime;
  endTime: HrTime = [0, 0];
  duration: HrTime = [0, 0];
  status: { code: SpanStatusCode; message?: string } = { code: SpanStatusCode.UNSET };
  readonly attributes: OtelAttributes = {};
  readonly links: Link[];
  readonly events = noEvents;
  ended = false;
  readonly instrumentationScope = scope;
  readonly droppedAttributesCount = 0;
  readonly droppedEventsCount = 0;
  readonly droppedLinksCount = 0;
  private readonly startedAtMs: number;
  /** Wall clock minus monotonic clock at the start: durations must not follow a clock that is set meanwhile. */
  private readonly clockOffsetMs = Date.now() - performance.now();
  private readonly otelContext: SpanContext;

  readonly name: string;
  readonly context: TraceContext;
  readonly resource: Resource;
  private readonly onEnd: (span: RecordedSpan) => void;

  constructor({ name, context, resource, onEnd }: SpanIdentity, options: SpanOptions) {
    this.name = name;
    this.context = context;
    this.resource = resource;
    this.onEnd = onEnd;
    this.kind = kinds[options.kind];
    this.otelContext = spanContext(context, false);
    if (options.parent !== undefined) this.parentSpanContext = spanContext(options.parent, true);
    this.links = (options.links ?? []).map(({ context: linked, attributes }) => ({
      // Without tracestate: a link leads to a caller that is not trusted, whose text must not reach the viewer.
      context: spanContext({ ...linked, tracestate: undefined }, true),
      attributes: attributes === undefined ? {} : copyInto({}, attributes),
    }));
    if (options.attributes !== undefined) copyInto(this.attributes, options.attributes);
    this.startedAtMs = options.startTime ?? this.nowMs();
    this.startTime = hrTime(this.startedAtMs);
  }

  spanContext(): SpanContext {
    return this.otelContext;
  }

  set(attributes: Attributes): void {
    if (!this.ended) copyInto(this.attributes, attributes);
  }

  end(outcome?: { error?: string }): void {
    if (this.ended) return;
    this.ended = true;
    const endedAtMs = Math.max(this.nowMs(), this.startedAtMs);
    this.endTime = hrTime(endedAtMs);
    this.duration = hrTime(endedAtMs - this.startedAtMs);
    if (outcome?.error !== undefined) {
      const error = outcome.error.slice(0, maxAttributeLength);
      this.attributes['error.type'] = error;
      this.status = { code: SpanStatusCode.ERROR, message: error };
    }
    this.onEnd(this);
  }

  private nowMs(): number {
    return performance.now() + this.clockOffsetMs;
  }
}

function copyInto(target: OtelAttributes, source: Attributes): OtelAttributes {
  for (const name in source) {
    const value = source[name];
    if (value === undefined) continue;
    target[name] = typeof value === 'string' && value.length > maxAttributeLength ? value.slice(0, maxAttributeLength) : value;
  }
  return target;
}

function spanContext(context: TraceContext, isRemote: boolean): SpanContext {
  const { traceId, spanId, sampled, tracestate } = context;
  const traceFlags = sampled ? 1 : 0;
  if (tracestate === undefined) return { traceId, spanId, traceFlags, isRemote };
  return { traceId, spanId, traceFlags, isRemote, traceState: new TraceState(tracestate) };
}

function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1e6)];
}
