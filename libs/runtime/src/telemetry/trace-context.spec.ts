import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseTraceContext } from './trace-context.js';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const traceparent = `00-${traceId}-${spanId}-01`;

describe('parseTraceContext', () => {
  it('reads a valid header', () => {
    expect(parseTraceContext({ traceparent })).toEqual({ traceparent, traceId, spanId, sampled: true });
    expect(parseTraceContext({ traceparent: `00-${traceId}-${spanId}-00` })?.sampled).toBe(false);
  });

  it('reads a later version as the one we speak', () => {
    expect(parseTraceContext({ traceparent: `cc-${traceId}-${spanId}-09-what-comes-later` })?.traceparent).toBe(traceparent);
  });

  it.each([
    ['nothing', undefined],
    ['an empty text', ''],
    ['version ff', `ff-${traceId}-${spanId}-01`],
    ['version 00 with more fields', `${traceparent}-more`],
    ['upper-case digits', traceparent.toUpperCase()],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['a span id of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['a short trace id', `00-${traceId.slice(1)}-${spanId}-01`],
    ['a missing flag', `00-${traceId}-${spanId}`],
    ['space around it', ` ${traceparent} `],
    ['two of them', `${traceparent},${traceparent}`],
    ['a line break after it', `${traceparent}\n`],
  ])('takes %s as absent', (_, header) => {
    expect(parseTraceContext({ traceparent: header })).toBeUndefined();
  });

  it.each([
    ['one member', 'vendor=opaque', 'vendor=opaque'],
    ['several, with space and empty ones', 'a=1 , ,b@vendor=x y', 'a=1,b@vendor=x y'],
    ['one without a value', 'vendor', undefined],
    ['a key in upper case', 'Vendor=1', undefined],
    ['a key twice', 'a=1,a=2', undefined],
    ['a value with an equals sign', 'a=b=c', undefined],
    ['more than 512 characters', `a=${'x'.repeat(600)}`, undefined],
    ['more than 32 members', Array.from({ length: 33 }, (_, index) => `k${index}=v`).join(','), undefined],
    ['nothing', '', undefined],
  ])('keeps or drops a tracestate alone: %s', (_, tracestate, kept) => {
    const context = parseTraceContext({ traceparent, tracestate });
    expect(context?.traceId).toBe(traceId);
    expect(context?.tracestate).toBe(kept);
  });

  it('gives back only what it would read again, whatever comes in', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (parent, state) => {
        const context =
          parseTraceContext({ traceparent: parent, tracestate: state }) ?? parseTraceContext({ traceparent, tracestate: state });
        expect(context).toBeDefined();
        expect(parseTraceContext({ traceparent: context?.traceparent, tracestate: context?.tracestate })).toEqual(context);
      }),
    );
  });
});
