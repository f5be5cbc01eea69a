import type { TraceContext } from './trace-context.js';

export type SpanKind = 'server' | 'client' | 'producer' | 'consumer' | 'internal';
export type AttributeValue = string | number | boolean;
/** Span attributes: identifiers and low-cardinality facts, never personal data. */
export type Attributes = Record<string, AttributeValue | undefined>;

export interface SpanOptions {
  kind: SpanKind;
  /** Absent: a new root. */
  parent?: TraceContext;
  links?: { context: TraceContext; attributes?: Attributes }[];
  attributes?: Attributes;
  /** Epoch milliseconds; default now. */
  startTime?: number;
}

export interface Span {
  readonly context: TraceContext;
  set(attributes: Attributes): void;
  /** `error` is a low-cardinality code; it marks the span as failed. Only the first call counts. */
  end(outcome?: { error?: string }): void;
}
