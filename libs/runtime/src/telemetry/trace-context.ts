/** W3C trace context of one span. */
export interface TraceContext {
  traceparent: string;
  tracestate?: string;
  /** 32 lower-case hex digits. */
  traceId: string;
  /** 16 lower-case hex digits. */
  spanId: string;
  sampled: boolean;
}

/** Reads W3C headers strictly; malformed or absent gives undefined. A malformed tracestate is dropped alone. */
export function parseTraceContext(headers: { traceparent?: string; tracestate?: string }): TraceContext | undefined {
  void headers;
  throw new Error('not implemented');
}
