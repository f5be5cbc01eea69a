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

/** The length W3C asks everybody to carry; a longer tracestate is dropped, since it rides in every outbox row and record. */
const maxTracestateLength = 512;
const maxTracestateMembers = 32;

const traceparentPattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const noTraceId = '0'.repeat(32);
const noSpanId = '0'.repeat(16);
const memberPattern = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/**
 * Reads W3C headers strictly; a malformed or absent traceparent gives undefined. A malformed or over-long tracestate is dropped alone.
 * A later version is read as version 00, as the specification asks.
 */
export function parseTraceContext(headers: { traceparent?: string; tracestate?: string }): TraceContext | undefined {
  if (headers.traceparent === undefined) return undefined;
  const match = traceparentPattern.exec(headers.traceparent);
  if (match === null) return undefined;
  const [, version, traceId = noTraceId, spanId = noSpanId, flags = '00', rest] = match;
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (traceId === noTraceId || spanId === noSpanId) return undefined;
  return traceContext(traceId, spanId, {
    sampled: (Number.parseInt(flags, 16) & 1) === 1,
    tracestate: validTracestate(headers.tracestate),
  });
}

/** A context from its parts. Ids must be valid already. */
export function traceContext(traceId: string, spanId: string, more: { sampled: boolean; tracestate?: string }): TraceContext {
  const { sampled, tracestate } = more;
  const traceparent = `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
  return tracestate === undefined ? { traceparent, traceId, spanId, sampled } : { traceparent, tracestate, traceId, spanId, sampled };
}

function validTracestate(text: string | undefined): string | undefined {
  if (text === undefined || text.length > maxTracestateLength) return undefined;
  const members = text
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
  if (members.length === 0 || members.length > maxTracestateMembers) return undefined;
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf('='))));
  if (keys.size !== members.length || !members.every((member) => memberPattern.test(member))) return undefined;
  return members.join(',');
}
